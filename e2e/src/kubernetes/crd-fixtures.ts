/**
 * Definitions of the foreign kinds that charts and examples use, written for these tests: only the
 * fields that we set, strict about all others, so that a misspelt field is an error here as it
 * would be a silent nothing in a cluster.
 */

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const integer: Schema = { type: 'integer' };
const flag: Schema = { type: 'boolean' };
const anything: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const map: Schema = { type: 'object', additionalProperties: text };
const list = (items: Schema): Schema => ({ type: 'array', items });
const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const oneOf = (...values: string[]): Schema => ({ type: 'string', enum: values });

const parentRef = object({ group: text, kind: text, name: text, namespace: text }, ['name']);
const backendRef = object({ group: text, kind: text, name: text, port: integer }, ['name']);
const targetRefs = list(object({ group: text, kind: text, name: text }, ['group', 'kind', 'name']));
const headerMatch = object({ type: oneOf('Exact', 'RegularExpression'), name: text, value: text });
const timeouts = object({ request: text, backendRequest: text });

interface Definition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope?: 'Cluster';
  readonly spec: Schema;
}

const definitions: readonly Definition[] = [
  {
    group: 'inference.networking.k8s.io',
    version: 'v1',
    kind: 'InferencePool',
    plural: 'inferencepools',
    spec: object(
      {
        selector: object({ matchLabels: map }, ['matchLabels']),
        targetPorts: {
          ...list(object({ number: { ...integer, minimum: 1, maximum: 65_535 } }, ['number'])),
          minItems: 1,
          maxItems: 8,
        },
        appProtocol: oneOf('http', 'kubernetes.io/h2c'),
        endpointPickerRef: object(
          {
            group: text,
            kind: { ...text, default: 'Service' },
            name: text,
            port: object({ number: integer }, ['number']),
            failureMode: { ...oneOf('FailOpen', 'FailClose'), default: 'FailClose' },
          },
          ['name'],
        ),
      },
      ['selector', 'targetPorts', 'endpointPickerRef'],
    ),
  },
  {
    group: 'inference.networking.x-k8s.io',
    version: 'v1alpha2',
    kind: 'InferenceObjective',
    plural: 'inferenceobjectives',
    spec: object({ priority: integer, poolRef: object({ group: text, kind: text, name: text }) }),
  },
  {
    group: 'gateway.networking.k8s.io',
    version: 'v1',
    kind: 'GatewayClass',
    plural: 'gatewayclasses',
    scope: 'Cluster',
    spec: object({ controllerName: text, parametersRef: anything }, ['controllerName']),
  },
  {
    group: 'gateway.networking.k8s.io',
    version: 'v1',
    kind: 'Gateway',
    plural: 'gateways',
    spec: object({
      gatewayClassName: text,
      listeners: list(object({ name: text, protocol: text, port: integer })),
    }),
  },
  {
    group: 'gateway.networking.k8s.io',
    version: 'v1',
    kind: 'HTTPRoute',
    plural: 'httproutes',
    spec: object({
      parentRefs: list(parentRef),
      rules: list(
        object({
          matches: list(
            object({
              path: object({
                type: oneOf('Exact', 'PathPrefix', 'RegularExpression'),
                value: text,
              }),
              headers: list(headerMatch),
            }),
          ),
          backendRefs: list(backendRef),
          timeouts,
        }),
      ),
    }),
  },
  {
    group: 'gateway.envoyproxy.io',
    version: 'v1alpha1',
    kind: 'ClientTrafficPolicy',
    plural: 'clienttrafficpolicies',
    spec: object({ targetRefs, connection: object({ bufferLimit: text }) }),
  },
  {
    group: 'gateway.envoyproxy.io',
    version: 'v1alpha1',
    kind: 'EnvoyExtensionPolicy',
    plural: 'envoyextensionpolicies',
    spec: object({
      targetRefs,
      extProc: list(
        object({
          backendRefs: list(backendRef),
          messageTimeout: text,
          failOpen: flag,
          processingMode: object({
            request: object({ body: oneOf('Streamed', 'Buffered', 'BufferedPartial') }),
            response: object({ body: oneOf('Streamed', 'Buffered', 'BufferedPartial') }),
          }),
        }),
      ),
    }),
  },
  {
    group: 'gateway.envoyproxy.io',
    version: 'v1alpha1',
    kind: 'BackendTrafficPolicy',
    plural: 'backendtrafficpolicies',
    spec: object({
      targetRefs,
      loadBalancer: object(
        {
          type: oneOf('ConsistentHash', 'LeastRequest', 'Random', 'RoundRobin'),
          endpointOverride: object({ extractFrom: list(object({ header: text })) }),
        },
        ['type'],
      ),
    }),
  },
  {
    group: 'aigateway.envoyproxy.io',
    version: 'v1beta1',
    kind: 'AIGatewayRoute',
    plural: 'aigatewayroutes',
    spec: object({
      parentRefs: list(parentRef),
      rules: list(
        object({
          matches: list(object({ headers: list(headerMatch) })),
          backendRefs: list(backendRef),
          timeouts,
        }),
      ),
    }),
  },
  {
    group: 'networking.istio.io',
    version: 'v1',
    kind: 'DestinationRule',
    plural: 'destinationrules',
    spec: object({
      host: text,
      trafficPolicy: object({
        tls: object({
          mode: oneOf('DISABLE', 'SIMPLE', 'MUTUAL', 'ISTIO_MUTUAL'),
          insecureSkipVerify: flag,
        }),
        connectionPool: object({ http: object({ http2MaxRequests: integer }) }),
      }),
    }),
  },
  {
    group: 'monitoring.coreos.com',
    version: 'v1',
    kind: 'PodMonitor',
    plural: 'podmonitors',
    spec: object({
      selector: object({ matchLabels: map }),
      namespaceSelector: object({ any: { type: 'boolean' } }),
      podMetricsEndpoints: list(object({ port: text, path: text, interval: text })),
    }),
  },
  {
    group: 'monitoring.coreos.com',
    version: 'v1',
    kind: 'PrometheusRule',
    plural: 'prometheusrules',
    spec: object({
      groups: list(
        object({
          name: text,
          rules: list(
            object({ alert: text, expr: text, for: text, labels: map, annotations: map }, ['expr']),
          ),
        }),
      ),
    }),
  },
  {
    group: 'cert-manager.io',
    version: 'v1',
    kind: 'Certificate',
    plural: 'certificates',
    spec: object({
      secretName: text,
      duration: text,
      dnsNames: list(text),
      issuerRef: object({ group: text, kind: text, name: text }, ['name']),
    }),
  },
];

/** CustomResourceDefinitions of all of them. */
export const crdFixtures = definitions.map(
  ({ group, version, kind, plural, scope = 'Namespaced', spec }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      // Groups under k8s.io are protected; this annotation says that it is on purpose.
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' },
    },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: object({ spec, status: anything }) },
        },
      ],
    },
  }),
);

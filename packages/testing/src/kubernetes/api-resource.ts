/** The collections that the fake API server serves unless a test removes or adds some. */

export interface ApiResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const core = (plural: string, kind: string, namespaced = true): ApiResource => ({
  group: '',
  version: 'v1',
  plural,
  kind,
  namespaced,
});

/** What the project reads or writes; a test can add any other. */
export const apiResources: readonly ApiResource[] = [
  core('pods', 'Pod'),
  core('services', 'Service'),
  core('secrets', 'Secret'),
  core('configmaps', 'ConfigMap'),
  core('namespaces', 'Namespace', false),
  core('nodes', 'Node', false),
  {
    group: 'inference.networking.k8s.io',
    version: 'v1',
    plural: 'inferencepools',
    kind: 'InferencePool',
    namespaced: true,
  },
  {
    group: 'inference.networking.x-k8s.io',
    version: 'v1alpha2',
    plural: 'inferenceobjectives',
    kind: 'InferenceObjective',
    namespaced: true,
  },
  {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural: 'mutatingwebhookconfigurations',
    kind: 'MutatingWebhookConfiguration',
    namespaced: false,
  },
];

/** `group/plural`, which names a collection within the fake. */
export function collectionOf(resource: Pick<ApiResource, 'group' | 'plural'>): string {
  return `${resource.group}/${resource.plural}`;
}

/** What a request path names. */
export interface RequestTarget {
  readonly resource: ApiResource;
  readonly namespace: string;
  /** Empty for the collection. */
  readonly name: string;
  /** `status` or empty. */
  readonly subresource: string;
}

/** Reads `/api/v1/...` and `/apis/group/version/...`; undefined when nothing is served there. */
export function parseHostPort(
  path: string,
  resources: readonly ApiResource[],
): RequestTarget | undefined {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const root = parts.shift();
  const group = root === 'apis' ? parts.shift() : root === 'api' ? '' : undefined;
  const version = parts.shift();
  // A namespace is itself an object: /namespaces/x names it, /namespaces/x/pods is inside it.
  const namespace = parts[0] === 'namespaces' && parts.length > 2 ? (parts[1] ?? '') : '';
  if (namespace !== '') parts.splice(0, 2);
  const [plural, name = '', subresource = ''] = parts;
  const resource = resources.find(
    (one) => one.group === group && one.version === version && one.plural === plural,
  );
  return resource && { resource, namespace, name, subresource };
}

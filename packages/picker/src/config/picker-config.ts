/** Flags and variables of the picker process. See docs/configuration.md for the strategy file. */
import {
  adminOptions,
  askerOptions,
  callerOptions,
  collectorOptions,
  collectorProblem,
  listenerProblem,
  natsOptions,
  podIdentityOptions,
} from '@leadsman/service';
import { Network, WireError } from '@leadsman/wire';
import * as z from 'zod';

const port = z.number().int().min(0).max(65_535);
const milliseconds = (least: number, most: number) => z.number().int().min(least).max(most);

const pickerOptions = z.object({
  ...adminOptions(9090),
  ...askerOptions,
  ...natsOptions,
  ...podIdentityOptions,

  extProcHost: z.string().default('0.0.0.0').describe('Address of the ext_proc server.'),
  extProcPort: port.default(9002).describe('Port of the ext_proc server; 0: any.'),
  healthPort: port.default(9003).describe('Port of the gRPC health service; 0: any.'),
  workers: z
    .number()
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe('Worker processes that serve ext_proc; they share the port.'),
  poolPorts: z
    .array(z.string().regex(/^\d+=.+$/, 'not PORT=POOL'))
    .default([])
    .describe('Further ext_proc ports, each for one pool: 9012=namespace/name.'),
  drainNoticeMs: milliseconds(0, 60_000)
    .default(2_000)
    .describe('How long after SIGTERM new exchanges are still served, as gateways notice late.'),
  drainGraceMs: milliseconds(0, 600_000)
    .default(30_000)
    .describe('How long open exchanges may go on after SIGTERM.'),

  poolSource: z
    .enum(['kubernetes', 'file', 'view'])
    .default('kubernetes')
    .describe('Where pools and endpoints come from.'),
  poolFile: z.string().default('').describe('YAML file of pools, with --pool-source file.'),
  poolNetworks: z
    .array(z.string().refine(isNetwork, 'not a network (10.0.0.0/8, fd00::/8)'))
    .default([])
    .describe('Networks whose reporters become endpoints, with --pool-source view.'),
  poolName: z.string().default('default').describe('Name of the pool, with --pool-source view.'),
  namespaces: z
    .array(z.string())
    .default([])
    .describe('Namespaces whose pools are served; empty: the own one; *: all.'),
  services: z
    .array(z.string())
    .default([])
    .describe('Services of this picker (name or namespace/name): it serves pools that name one.'),
  inferenceClass: z.string().default('').describe('Serve only pools of this class.'),
  inferenceClassDefault: z
    .boolean()
    .default(false)
    .describe('Serve pools without a class as well, with --inference-class.'),
  kubeconfig: z.string().default('').describe('Kubeconfig file; empty: in-cluster account.'),

  ...collectorOptions,
  directHost: z.string().default('0.0.0.0').describe('Address of the direct frame server.'),
  directPort: z
    .number()
    .int()
    .min(-1)
    .max(65_535)
    .default(-1)
    .describe('Port on which sidecars and agents stream frames directly; -1: off, 0: any.'),
  directTlsCertFile: z
    .string()
    .default('')
    .describe('Certificate of that port; empty: plain text.'),
  directTlsKeyFile: z.string().default('').describe('Key of the certificate.'),
  directTlsClientCaFile: z.string().default('').describe('Clients must show a certificate of it.'),
  ...callerOptions,
  endpointsMax: z
    .number()
    .int()
    .min(1)
    .max(131_072)
    .default(16_384)
    .describe('Endpoints known at most; memory is used only for those that exist.'),
  staleAfterMs: milliseconds(100, 600_000)
    .default(2_000)
    .describe(
      'Age from which numbers are not trusted, without --config-file (which sets it per pool).',
    ),
  expireAfterMs: milliseconds(1_000, 3_600_000)
    .default(10_000)
    .describe('Silence after which an endpoint leaves the view.'),

  readyAfterMs: milliseconds(0, 600_000)
    .default(10_000)
    .describe('Go into service this long after the start even if no report has come.'),

  configFile: z.string().default('').describe('Strategy file (YAML); empty: see --strategy.'),
  strategy: z
    .string()
    .default('expected-work')
    .describe('Strategy of every pool, without --config-file.'),
  replicaName: z
    .string()
    .default('')
    .describe('Name among the replicas; empty: the pod name, else a random one.'),

  tls: z.boolean().default(true).describe('Serve ext_proc by TLS.'),
  tlsCertFile: z.string().default('').describe('Certificate; empty: self-signed.'),
  tlsKeyFile: z.string().default('').describe('Key of the certificate.'),
  bodyBytesMax: z
    .number()
    .int()
    .min(0)
    .max(1_073_741_824)
    .default(33_554_432)
    .describe('Largest request body that is read for a pick.'),
  bodyAboveMax: z
    .enum(['pick', 'refuse'])
    .default('pick')
    .describe('A larger body: pick without having read it, or refuse it with 413.'),
  decisionTimeoutMs: milliseconds(100, 600_000)
    .default(10_000)
    .describe('How long a pick may wait for the body of its request.'),
  atDecisionTimeout: z
    .enum(['pick', 'refuse'])
    .default('pick')
    .describe('After that: pick with what is known, or refuse with 504.'),
  requestBodyMode: z
    .enum(['none', 'streamed', 'buffered', 'buffered_partial', 'full_duplex_streamed'])
    .default('full_duplex_streamed')
    .describe('Body mode of gateways that do not state it.'),
  conformance: z
    .boolean()
    .default(false)
    .describe('Obey the headers of the gateway conformance suite. Never in production.'),
});

export const pickerConfigShape = pickerOptions.superRefine((config, context) => {
  const refuse = (key: keyof typeof config, message: string) => {
    if (message !== '') context.addIssue({ code: 'custom', path: [key], message });
  };
  refuse('collectorTlsCaFile', collectorProblem(config));
  refuse(
    'directTlsCertFile',
    listenerProblem({
      certFile: config.directTlsCertFile,
      keyFile: config.directTlsKeyFile,
      clientCaFile: config.directTlsClientCaFile,
      tokenFile: config.callerTokenFile,
      tokenAudience: config.callerTokenAudience,
    }),
  );
});

export type PickerConfig = Readonly<z.output<typeof pickerConfigShape>>;

function isNetwork(text: string): boolean {
  try {
    new Network(text);
    return true;
  } catch (error) {
    if (error instanceof WireError) return false;
    throw error;
  }
}

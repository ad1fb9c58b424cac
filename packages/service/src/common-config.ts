/** Options that several processes share, so that one name means one thing in all of them. */
import * as z from 'zod';
import { logLevels } from './log.ts';

const port = z.number().int().min(0).max(65_535);

/** Log level, and the address of the HTTP side. Port 0 lets the system choose. */
export function adminOptions(defaultPort: number) {
  return {
    logLevel: z.enum(logLevels).default('info').describe('Least severe level that is logged.'),
    adminHost: z.string().default('0.0.0.0').describe('Address of /metrics and the probes.'),
    adminPort: port.default(defaultPort).describe('Port of /metrics and the probes; 0: any.'),
  };
}

/** Who may ask for what the HTTP side shows below `/v1/`. Neither: everybody. */
export const askerOptions = {
  adminTokenFile: z
    .string()
    .default('')
    .describe('Answer /v1/* only to who sends the token in this file (Authorization: Bearer).'),
  adminTokenAudience: z
    .string()
    .default('')
    .describe(
      'Answer /v1/* only to service accounts whose token is made for this audience (TokenReview).',
    ),
};

/** How to reach NATS. No URL: this process does without. */
export const natsOptions = {
  natsUrl: z.array(z.string()).default([]).describe('NATS servers, comma list; empty: none.'),
  natsCredsFile: z.string().default('').describe('Credentials file (user JWT and seed).'),
  natsNkeyFile: z.string().default('').describe('File with an nkey seed.'),
  natsTokenFile: z.string().default('').describe('File with a token.'),
  natsUser: z.string().default('').describe('User name; the password comes from a file.'),
  natsPasswordFile: z.string().default('').describe('File with the password.'),
  natsTlsCaFile: z.string().default('').describe('CA bundle of the servers; turns TLS on.'),
  natsTlsCertFile: z.string().default('').describe('Client certificate.'),
  natsTlsKeyFile: z.string().default('').describe('Key of the client certificate.'),
  subjectPrefix: z
    .string()
    .regex(/^[A-Za-z0-9_=-]+(\.[A-Za-z0-9_=-]+)*$/, 'not a subject prefix')
    .default('leadsman')
    .describe('First tokens of every subject.'),
};

/** Who this pod is, by the downward API. */
export const podIdentityOptions = {
  podUid: z.string().default('').describe('metadata.uid of the pod.'),
  podName: z.string().default('').describe('metadata.name of the pod.'),
  podNamespace: z.string().default('').describe('metadata.namespace of the pod.'),
  podIp: z.string().default('').describe('status.podIP of the pod.'),
  nodeName: z.string().default('').describe('spec.nodeName of the pod.'),
  hostIp: z.string().default('').describe('status.hostIP of the pod.'),
};

/**
 * How to reach collector services: the same for all that push to them or watch them. The former
 * name of `--collector-url` in a picker was `--collector`.
 */
export const collectorOptions = {
  collectorUrl: z
    .array(z.string())
    .default([])
    .describe('Collectors to stream to or read from directly (grpc://host:port); not with NATS.')
    .meta({ formerly: 'collector' }),
  collectorTlsCaFile: z.string().default('').describe('CA of the collectors; turns TLS on.'),
  collectorTlsCertFile: z.string().default('').describe('Client certificate for collectors.'),
  collectorTlsKeyFile: z.string().default('').describe('Key of that certificate.'),
  collectorTokenFile: z
    .string()
    .default('')
    .describe('File with a token that collectors believe; sent by TLS only.'),
};

/** The settings of {@link collectorOptions}. */
export interface CollectorSettings {
  collectorTlsCaFile: string;
  collectorTlsCertFile: string;
  collectorTlsKeyFile: string;
  collectorTokenFile: string;
}

/** From settings to the files of a client. */
export function collectorAccessOf(config: CollectorSettings): {
  caFile: string;
  certFile: string;
  keyFile: string;
  tokenFile: string;
} {
  return {
    caFile: config.collectorTlsCaFile,
    certFile: config.collectorTlsCertFile,
    keyFile: config.collectorTlsKeyFile,
    tokenFile: config.collectorTokenFile,
  };
}

/** What in them contradicts itself; empty: nothing. Each process refuses to start with it. */
export function collectorProblem(config: CollectorSettings): string {
  const { collectorTlsCaFile: ca, collectorTlsCertFile: cert, collectorTlsKeyFile: key } = config;
  if ((cert === '') !== (key === '')) return 'a client certificate and its key go together';
  if (cert !== '' && ca === '') return 'a client certificate is of use only with a CA (TLS)';
  if (config.collectorTokenFile !== '' && ca === '') {
    return 'a token would be sent in plain text: name the CA of the collectors (TLS)';
  }
  return '';
}

/** What the listener for frames and watchers demands of its callers. */
export const callerOptions = {
  callerTokenFile: z
    .string()
    .default('')
    .describe('Serve on the frame port who sends the token in this file; needs TLS there.'),
  callerTokenAudience: z
    .string()
    .default('')
    .describe(
      'Serve on the frame port service accounts whose token is made for this audience (TokenReview).',
    ),
};

/** The settings of a listener that {@link callerOptions} and its TLS files decide about. */
export interface ListenerSettings {
  certFile: string;
  keyFile: string;
  clientCaFile: string;
  tokenFile: string;
  tokenAudience: string;
}

/** What in them contradicts itself; empty: nothing. */
export function listenerProblem(settings: ListenerSettings): string {
  const { certFile, keyFile, clientCaFile, tokenFile, tokenAudience } = settings;
  if ((certFile === '') !== (keyFile === '')) return 'a certificate and its key go together';
  if (certFile !== '') return '';
  if (clientCaFile !== '')
    return 'client certificates are asked for by TLS only: give a certificate';
  const wantsToken = tokenFile !== '' || tokenAudience !== '';
  return wantsToken ? 'tokens would come in plain text: give a certificate (TLS)' : '';
}

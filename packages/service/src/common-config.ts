/** Options that several processes share, so that one name means one thing in all of them. */
import { z } from 'zod';
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

/** How a NATS link is set up: what the operator chooses, and the bounds with their reasons. */
import type { NatsCredentials } from './credentials.ts';

/** The few calls of a logger that links make. */
export interface LinkLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface NatsTls {
  caFile?: string;
  certFile?: string;
  keyFile?: string;
}

export interface NatsOptions {
  /** `nats://host:4222`, tried in random order. At least one. */
  servers: readonly string[];
  /** Shown in the server's connection list: process and node. */
  name: string;
  credentials?: NatsCredentials;
  /** Any file set: TLS is required. The files are read at each attempt. */
  tls?: NatsTls;
  logger?: LinkLogger;
  random?: () => number;
  nowMs?: () => number;
  bounds?: Partial<NatsBounds>;
}

export interface NatsBounds {
  /** One attempt, name resolution and handshake included, ms. */
  connectTimeoutMs: number;
  /** First and longest wait between attempts, ms. */
  retryFirstMs: number;
  retryMaxMs: number;
  /** Longest wait after a refusal of the credentials, ms: retries must not burden who decides. */
  retryRefusedMaxMs: number;
  /** Distance of the pings that measure lag, ms. */
  pingEveryMs: number;
  /** Frames known to be older are dropped on arrival; later ones are not published, ms. */
  lateMs: number;
  /** An unanswered ping this old: the connection is dead, and another is made, ms. */
  deadMs: number;
  /** A ping that is unanswered for less than this is an ordinary one: nothing waited, ms. */
  promptMs: number;
  /** Bytes under way that no ping vouches for; more are not published. */
  pendingBytesMax: number;
}

export const natsBoundsDefault: NatsBounds = {
  connectTimeoutMs: 5_000,
  retryFirstMs: 50,
  // The view must be complete 2 s after a server's return: 1 s here and 1 s for the keyframe.
  retryMaxMs: 1_000,
  retryRefusedMaxMs: 5_000,
  // With these two what a receiver takes for new was sent at most a second ago.
  pingEveryMs: 250,
  lateMs: 750,
  deadMs: 5_000,
  // One scrape interval: less does not change what a picker thinks of a number.
  promptMs: 50,
  // Four frames of the largest size, which is a keyframe of some 14,000 pods.
  pendingBytesMax: 4_194_304,
};

/** The settings that all processes share (`natsOptions` of packages/service), and the name. */
export interface NatsConfig {
  natsUrl: readonly string[];
  natsCredsFile: string;
  natsNkeyFile: string;
  natsTokenFile: string;
  natsUser: string;
  natsPasswordFile: string;
  natsTlsCaFile: string;
  natsTlsCertFile: string;
  natsTlsKeyFile: string;
}

/** From a process's configuration to link options. */
export function natsOptionsFrom(config: NatsConfig, name: string): NatsOptions {
  return {
    servers: config.natsUrl,
    name,
    credentials: {
      credsFile: config.natsCredsFile,
      nkeyFile: config.natsNkeyFile,
      tokenFile: config.natsTokenFile,
      user: config.natsUser,
      passwordFile: config.natsPasswordFile,
    },
    tls: {
      caFile: config.natsTlsCaFile,
      certFile: config.natsTlsCertFile,
      keyFile: config.natsTlsKeyFile,
    },
  };
}

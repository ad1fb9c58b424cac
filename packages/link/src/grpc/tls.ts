/**
 * TLS of the direct transport, both sides: credentials from files that are followed while they are
 * rotated. A client asks for the newest at each connection; a listener changes over while it serves,
 * for connections that come after.
 */
import {
  type ChannelCredentials,
  credentials,
  experimental,
  type Metadata,
  ServerCredentials,
} from '@grpc/grpc-js';
import {
  type CertificateLogger,
  RotatingCertificate,
  type TlsFiles,
  type TlsMaterial,
} from '@leadsman/service/rotating-certificate';
import { bearerMetadata } from './bearer.ts';

/** How a client shows itself to collectors: certificates, and a token that it sends along. */
export interface CollectorAccess extends TlsFiles {
  tokenFile?: string | undefined;
}

/** The files of a client; plain text without a CA file. */
export class ClientTls {
  readonly secured: boolean;
  readonly #certificate: RotatingCertificate;
  readonly #tokenFile: string | undefined;

  constructor(files: CollectorAccess | undefined, logger?: CertificateLogger) {
    this.secured = Boolean(files?.caFile);
    this.#tokenFile = files?.tokenFile;
    this.#certificate = new RotatingCertificate({ files: files ?? {}, logger });
  }

  /** For one more call. A token is never sent in plain text. Rejects without the file. */
  metadata(): Promise<Metadata> {
    return bearerMetadata(this.secured ? this.#tokenFile : undefined);
  }

  /** For one more connection. Rejects while there was never a usable set of files. */
  async credentials(): Promise<ChannelCredentials> {
    if (!this.secured) return credentials.createInsecure();
    const { ca, cert, key } = await this.#certificate.read();
    return credentials.createSsl(bytesOf(ca), bytesOf(key), bytesOf(cert));
  }
}

/**
 * What a listener serves with; plain text without files. With a CA file its clients must show a
 * certificate which that CA signed. `certificate` must have been read once.
 */
export function serverCredentials(
  certificate: RotatingCertificate | undefined,
  files: TlsFiles | undefined,
): ServerCredentials {
  if (certificate === undefined) return ServerCredentials.createInsecure();
  const followed = new FollowedCertificate(certificate);
  const asksClients = Boolean(files?.caFile);
  // Declared the other way round than it is implemented, in 1.14.7: the identity comes first.
  const create = experimental.createCertificateProviderServerCredentials as unknown as (
    identity: FollowedCertificate,
    ca: FollowedCertificate | null,
    requireClientCertificate: boolean,
  ) => ServerCredentials;
  return create(followed, asksClients ? followed : null, asksClients);
}

type Provider = experimental.CertificateProvider;
type OnAuthority = Parameters<Provider['addCaCertificateListener']>[0];
type OnIdentity = Parameters<Provider['addIdentityCertificateListener']>[0];

/** Tells the gRPC library of each certificate as it comes. */
class FollowedCertificate implements Provider {
  readonly #certificate: RotatingCertificate;
  readonly #undo = new Map<OnAuthority | OnIdentity, () => void>();

  constructor(certificate: RotatingCertificate) {
    this.#certificate = certificate;
  }

  addCaCertificateListener(listener: OnAuthority): void {
    this.#follow(listener, ({ ca }) => {
      listener(ca === undefined ? null : { caCertificate: Buffer.from(ca) });
    });
  }

  removeCaCertificateListener(listener: OnAuthority): void {
    this.#leave(listener);
  }

  addIdentityCertificateListener(listener: OnIdentity): void {
    this.#follow(listener, ({ cert, key }) => {
      const isWhole = cert !== undefined && key !== undefined;
      listener(isWhole ? { certificate: Buffer.from(cert), privateKey: Buffer.from(key) } : null);
    });
  }

  removeIdentityCertificateListener(listener: OnIdentity): void {
    this.#leave(listener);
  }

  #follow(listener: OnAuthority | OnIdentity, use: (material: TlsMaterial) => void): void {
    this.#undo.set(listener, this.#certificate.onChange(use));
    // The library listens to itself only once it has been given us.
    queueMicrotask(() => {
      if (this.#certificate.current !== undefined) use(this.#certificate.current);
    });
  }

  #leave(listener: OnAuthority | OnIdentity): void {
    this.#undo.get(listener)?.();
    this.#undo.delete(listener);
  }
}

function bytesOf(pem: string | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem);
}

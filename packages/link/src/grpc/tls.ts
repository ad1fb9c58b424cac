/** TLS of the direct transport. Files are read for each new connection, as they are rotated. */
import { readFile } from 'node:fs/promises';
import { type ChannelCredentials, credentials, ServerCredentials } from '@grpc/grpc-js';

/** A CA turns TLS on; a certificate and its key, both or none, prove who the client is. */
export interface GrpcClientTls {
  caFile?: string;
  certFile?: string;
  keyFile?: string;
}

export interface GrpcServerTls {
  certFile: string;
  keyFile: string;
  /** Set: clients must show a certificate that this CA signed. */
  clientCaFile?: string;
}

/** Plain text without a CA file. Rejects when a file cannot be read. */
export async function clientCredentials(
  tls: GrpcClientTls | undefined,
): Promise<ChannelCredentials> {
  if (!tls?.caFile) return credentials.createInsecure();
  const ca = await readFile(tls.caFile);
  if (!tls.certFile || !tls.keyFile) return credentials.createSsl(ca);
  return credentials.createSsl(ca, await readFile(tls.keyFile), await readFile(tls.certFile));
}

export async function serverCredentials(
  tls: GrpcServerTls | undefined,
): Promise<ServerCredentials> {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const ca = tls.clientCaFile ? await readFile(tls.clientCaFile) : null;
  const pair = {
    private_key: await readFile(tls.keyFile),
    cert_chain: await readFile(tls.certFile),
  };
  return ServerCredentials.createSsl(ca, [pair], ca !== null);
}

/**
 * Credentials of a NATS user, read from their files for every single attempt to connect.
 *
 * A JWT lives for hours or minutes and its file is rewritten by whoever issues it. Read once at
 * start, it would be presented for ever after its end, and each refusal would burden the server.
 */
import { readFile } from 'node:fs/promises';
import {
  type Authenticator,
  credsAuthenticator,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';

/** Names of files, except `user`. Unset or empty: not used. The first that is set wins. */
export interface NatsCredentials {
  /** User JWT and seed, as `nsc` writes them. */
  credsFile?: string;
  nkeyFile?: string;
  tokenFile?: string;
  user?: string;
  passwordFile?: string;
}

/** The credentials could not be read: no connection is tried with less. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
  readonly code = 'credentials';
}

/**
 * Reads the files now and returns what answers this one connection's challenge; `undefined` when
 * none are configured. Throws {@link CredentialsError}, whose text never holds a secret.
 */
export async function loadAuthenticator(
  credentials: NatsCredentials,
): Promise<Authenticator | undefined> {
  if (isSet(credentials.credsFile)) {
    const authenticate = credsAuthenticator(await read(credentials.credsFile));
    return checked(authenticate, credentials.credsFile);
  }
  if (isSet(credentials.nkeyFile)) {
    const seed = new TextEncoder().encode(await readText(credentials.nkeyFile));
    return checked(nkeyAuthenticator(seed), credentials.nkeyFile);
  }
  if (isSet(credentials.tokenFile)) {
    return tokenAuthenticator(await readText(credentials.tokenFile));
  }
  if (isSet(credentials.user)) {
    const password = isSet(credentials.passwordFile)
      ? await readText(credentials.passwordFile)
      : '';
    return usernamePasswordAuthenticator(credentials.user, password);
  }
  return undefined;
}

/**
 * Tries the authenticator once: inside the client a throw would end the connection for good, and
 * a half-written file is an ordinary thing.
 */
function checked(authenticate: Authenticator, file: string): Authenticator {
  try {
    authenticate('probe');
  } catch {
    throw new CredentialsError(`${file} holds no usable credentials`);
  }
  return authenticate;
}

async function read(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (cause) {
    // The log has only this line: the system's code says whether it is missing or forbidden.
    const { code } = cause as NodeJS.ErrnoException;
    throw new CredentialsError(`cannot read ${file}: ${code}`, { cause });
  }
}

async function readText(file: string): Promise<string> {
  const text = new TextDecoder().decode(await read(file)).trim();
  if (text === '') throw new CredentialsError(`${file} is empty`);
  return text;
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

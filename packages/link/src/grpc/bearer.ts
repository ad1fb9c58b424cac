/** Bearer tokens on calls of the direct transport. Files are read for each call: they are rotated. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Metadata } from '@grpc/grpc-js';

const scheme = 'Bearer ';

/** The metadata of a call; with the file's token where there is a file. Rejects without it. */
export async function bearerMetadata(tokenFile: string | undefined): Promise<Metadata> {
  const metadata = new Metadata();
  if (tokenFile) metadata.set('authorization', scheme + (await readToken(tokenFile)));
  return metadata;
}

/** The token of a call; empty without one. */
export function bearerOf(metadata: Metadata): string {
  const [value] = metadata.get('authorization');
  return typeof value === 'string' && value.startsWith(scheme) ? value.slice(scheme.length) : '';
}

/** Whether a caller with this token is served. Never rejects. */
export type Authorizer = (token: string) => Promise<boolean>;

/** Serves who knows the token in a file. A file that is empty or cannot be read admits nobody. */
export function fileAuthorizer(tokenFile: string): Authorizer {
  return async (token) => {
    try {
      // Of equal length, so that the comparison takes the same time for each.
      return timingSafeEqual(digest(await readToken(tokenFile)), digest(token));
    } catch {
      return false;
    }
  };
}

async function readToken(file: string): Promise<string> {
  const token = (await readFile(file, 'utf8')).trim();
  if (token === '') throw new Error(`${file} is empty`);
  return token;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

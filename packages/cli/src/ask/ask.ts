/** One question to a process over HTTP: a deadline over the whole answer, and a bound on its size. */
import { readFile } from 'node:fs/promises';
import { request } from 'undici';

export interface AskSettings {
  timeoutMs: number;
  /** Sent as a bearer token; '' sends none. */
  token: string;
}

export interface Answer {
  status: number;
  text: string;
  /** What the process says of its version; '' when it is none of ours. */
  version: string;
  contentType: string;
}

/** Nobody answered, or not in time, or far too much. */
export interface NoAnswer {
  problem: string;
}

export type Asked = Answer | NoAnswer;

/** 16,384 endpoints are about 20 MB of JSON. */
const bytesMax = 64 * 1_048_576;

/** Never rejects: that nobody answers is an answer to an operator. */
export async function ask(
  base: URL,
  path: string,
  settings: AskSettings,
  method: 'GET' | 'POST' = 'GET',
  body?: string,
): Promise<Asked> {
  try {
    const reply = await request(new URL(path.replace(/^\//, ''), base), {
      method,
      signal: AbortSignal.timeout(settings.timeoutMs),
      headers: {
        ...(settings.token === '' ? {} : { authorization: `Bearer ${settings.token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body ?? null,
    });
    return {
      status: reply.statusCode,
      text: await readAll(reply.body),
      version: String(reply.headers['x-leadsman-version'] ?? ''),
      contentType: String(reply.headers['content-type'] ?? ''),
    };
  } catch (error) {
    return { problem: problemOf(error as Error, settings.timeoutMs) };
  }
}

export function isAnswer(asked: Asked): asked is Answer {
  return 'status' in asked;
}

/** The answer's JSON object, or what is wrong with it in one line. */
export function jsonOf(asked: Asked): { json: Record<string, unknown> } | NoAnswer {
  if (!isAnswer(asked)) return asked;
  if (asked.status === 401 || asked.status === 403) {
    return { problem: `wants a token (${asked.status}): --token-file` };
  }
  if (asked.status !== 200) return { problem: `answered ${asked.status}` };
  try {
    const json: unknown = JSON.parse(asked.text);
    if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
      return { json: json as Record<string, unknown> };
    }
  } catch {
    // Not JSON: said below.
  }
  return { problem: 'answered something else than JSON: is it one of ours?' };
}

/** The token in a file, without white space around it; '' for no file. */
export async function readToken(file: string): Promise<string> {
  return file === '' ? '' : (await readFile(file, 'utf8')).trim();
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new Error(`more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function problemOf(error: Error & { code?: string }, timeoutMs: number): string {
  if (error.name === 'TimeoutError' || error.name === 'AbortError') {
    return `no answer within ${timeoutMs} ms`;
  }
  if (error.code === 'ECONNREFUSED') return 'nobody listens there (connection refused)';
  if (error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN') return 'no such host';
  return error.message || (error.code ?? error.name);
}

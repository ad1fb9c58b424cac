/**
 * A client that sends one streamed chat request and times what it sees: the first event with
 * content is the first token. A stream without its end mark has failed, whatever its status.
 */
import { type Dispatcher, Pool } from 'undici';

export interface ChatRequest {
  prompt: string;
  outputTokens: number;
  model?: string;
}

export interface ChatResult {
  /** Undefined: everything arrived. */
  failure: string | undefined;
  status: number;
  /** From sending to the first token; NaN when none came. */
  firstTokenMs: number;
  /** From sending to the end. */
  totalMs: number;
}

/** Connections of one client; more requests than that wait for each other. */
const connectionsMax = 512;

export class ChatClient {
  readonly #pool: Pool;
  readonly #now: () => number;
  readonly #timeoutMs: number;

  /** `url` is the gateway's origin. A request that takes longer than `timeoutMs` has failed. */
  constructor(url: string, options: { now?: () => number; timeoutMs?: number } = {}) {
    this.#pool = new Pool(url, { connections: connectionsMax });
    this.#now = options.now ?? (() => performance.now());
    this.#timeoutMs = options.timeoutMs ?? 60_000;
  }

  /** Never rejects: a failure is a result. */
  async send(request: ChatRequest): Promise<ChatResult> {
    const started = this.#now();
    const result: ChatResult = {
      failure: undefined,
      status: 0,
      firstTokenMs: Number.NaN,
      totalMs: Number.NaN,
    };
    try {
      const response = await this.#pool.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          ...(request.model === undefined ? {} : { model: request.model }),
          messages: [{ role: 'user', content: request.prompt }],
          max_tokens: request.outputTokens,
          stream: true,
          stream_options: { include_usage: true },
        }),
        signal: AbortSignal.timeout(this.#timeoutMs),
        headersTimeout: this.#timeoutMs,
        bodyTimeout: this.#timeoutMs,
      });
      result.status = response.statusCode;
      await this.#read(response, result, started);
    } catch (error) {
      result.failure = describe(error);
    }
    result.totalMs = this.#now() - started;
    return result;
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #read(response: Dispatcher.ResponseData, result: ChatResult, started: number) {
    let tail = '';
    for await (const chunk of response.body.setEncoding('utf8') as AsyncIterable<string>) {
      // An event may be cut anywhere: what was left of the last chunk is looked at again.
      tail = (tail + chunk).slice(-Math.max(chunk.length + 64, 4096));
      if (Number.isNaN(result.firstTokenMs) && /"content":"[^"]/.test(tail)) {
        result.firstTokenMs = this.#now() - started;
      }
    }
    if (response.statusCode !== 200) {
      result.failure = `status ${response.statusCode}: ${tail.slice(0, 200)}`;
    } else if (!tail.trimEnd().endsWith('data: [DONE]')) {
      result.failure = 'the stream broke off';
    }
  }
}

function describe(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return [code, message].filter((part) => part !== undefined).join(': ');
}

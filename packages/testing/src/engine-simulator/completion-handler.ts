/**
 * `/v1/completions` and `/v1/chat/completions` of the engine simulator: reads the body, chooses a
 * rank, and ends the request in the engine when its client has gone.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CompletionReply } from './completion-reply.ts';
import type { EngineFaults } from './faults.ts';
import { type CompletionBody, readPrompt } from './prompt.ts';
import type { Rank } from './rank.ts';

/** Bytes of a request body; a long context of text is a few MB. */
const bodyBytesMax = 32 * 1_048_576;

export interface CompletionHandlerOptions {
  modelName: string;
  adapters: readonly string[];
  ranks: readonly Rank[];
  streamTokens: number;
  faults: EngineFaults;
  nowUnixMs: () => number;
  /** The set of adapters in use may have changed. */
  onAdapters: () => void;
}

export class CompletionHandler {
  readonly #options: CompletionHandlerOptions;
  #served = 0;

  constructor(options: CompletionHandlerOptions) {
    this.#options = options;
  }

  /** Requests that were accepted so far. */
  get served(): number {
    return this.#served;
  }

  async handle(request: IncomingMessage, response: ServerResponse, chat: boolean): Promise<void> {
    const { faults } = this.#options;
    if (faults.requestsHang) return;
    const text = await readBody(request);
    if (text === undefined) return sendError(response, 413, 'the body is too large');
    if (faults.requestsStatus !== 0) {
      return sendError(response, faults.requestsStatus, 'simulated fault');
    }
    let body: CompletionBody;
    try {
      body = JSON.parse(text) as CompletionBody;
    } catch {
      return sendError(response, 400, 'the body is not JSON');
    }
    const { adapters, modelName } = this.#options;
    const model = typeof body?.model === 'string' ? body.model : modelName;
    if (model !== modelName && !adapters.includes(model)) {
      return sendError(response, 404, `the model \`${model}\` does not exist`);
    }
    const rank = this.#chooseRank(request);
    const prompt = readPrompt(body, rank.model.parameters.blockTokens);
    if (prompt === undefined) return sendError(response, 400, 'no messages and no prompt');
    this.#start({ body, chat, model, prompt, rank, response });
  }

  #start(given: {
    body: CompletionBody;
    chat: boolean;
    model: string;
    prompt: NonNullable<ReturnType<typeof readPrompt>>;
    rank: Rank;
    response: ServerResponse;
  }): void {
    const { body, chat, model, prompt, rank, response } = given;
    const { faults, modelName, nowUnixMs, onAdapters, streamTokens } = this.#options;
    const number = this.#served++;
    const reply = new CompletionReply(
      {
        id: `${chat ? 'chatcmpl' : 'cmpl'}-${number.toString(16).padStart(12, '0')}`,
        chat,
        model,
        createdS: Math.floor(nowUnixMs() / 1000),
        prompt,
        stream: body.stream === true,
        includeUsage: body.stream_options?.include_usage === true,
        streamTokens,
      },
      response,
    );
    let cut = false;
    const id = rank.submit({
      ...prompt,
      adapter: model === modelName ? '' : model,
      onToken: (generated) => {
        if (cut) return;
        reply.token(generated);
        cut = generated >= faults.requestsCutAfterTokens;
        // What was written goes out first, as from a process that dies in the middle.
        if (cut) setImmediate(() => response.socket?.destroySoon());
      },
      onFinish: () => {
        if (!cut) reply.finish();
        onAdapters();
      },
    });
    if (id === undefined) {
      sendError(response, 400, 'prompt and output exceed the context length');
      return;
    }
    onAdapters();
    response.on('close', () => {
      if (response.writableFinished) return;
      rank.cancel(id);
      onAdapters();
    });
  }

  /** The rank that the client names, else the one with the least to do. */
  #chooseRank(request: IncomingMessage): Rank {
    const { ranks } = this.#options;
    const named = ranks[Number(request.headers['x-data-parallel-rank'] ?? Number.NaN)];
    if (named !== undefined) return named;
    return ranks.reduce((best, rank) => (rank.alive < best.alive ? rank : best));
  }
}

/** An error in OpenAI's format. */
export function sendError(response: ServerResponse, status: number, message: string): void {
  const type = status === 404 ? 'NotFoundError' : status < 500 ? 'BadRequestError' : 'ServerError';
  const body = JSON.stringify({ error: { message, type, param: null, code: status } });
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

/** The whole body as text, or undefined when it is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    // Reads on to the end: an answer before that would be lost when the connection is reset.
    if (length <= bodyBytesMax) chunks.push(chunk);
  }
  return length > bodyBytesMax ? undefined : Buffer.concat(chunks).toString();
}

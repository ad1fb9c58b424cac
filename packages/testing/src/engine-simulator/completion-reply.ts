/**
 * The answer to one completion request in OpenAI's format: a stream of server-sent events, or one
 * JSON document at the end. Writes what the engine says; decides nothing.
 */
import type { ServerResponse } from 'node:http';
import type { Prompt } from './prompt.ts';

export interface ReplyOptions {
  id: string;
  chat: boolean;
  model: string;
  createdS: number;
  prompt: Prompt;
  stream: boolean;
  /** A last event with the token counts. */
  includeUsage: boolean;
  /** Tokens per event. */
  streamTokens: number;
}

const words = ['sound', 'ing', 's ', 'by the', ' mark', ' and', ' the', ' deep', ' four', ' fath'];

export class CompletionReply {
  readonly #options: ReplyOptions;
  readonly #response: ServerResponse;
  readonly #before: string;
  readonly #after: string;
  /** The latest token sent, and the latest there is. */
  #sent = 0;
  #generated = 0;

  constructor(options: ReplyOptions, response: ServerResponse) {
    this.#options = options;
    this.#response = response;
    const { id, chat, createdS, model } = options;
    const object = chat ? 'chat.completion.chunk' : 'text_completion';
    const head = JSON.stringify({ id, object, created: createdS, model }).slice(0, -1);
    const content = chat ? '"delta":{"content":' : '"text":';
    this.#before = `data: ${head},"choices":[{"index":0,${content}`;
    this.#after = `${chat ? '}' : ''},"logprobs":null,"finish_reason":null}]}\n\n`;
  }

  /** Token number `generated` (from 1) is there. */
  token(generated: number): void {
    this.#generated = generated;
    if (!this.#options.stream) return;
    if (generated === 1) this.#begin();
    else if (generated - this.#sent < this.#options.streamTokens) return;
    this.#flush();
  }

  /** The last token was given; ends the response. */
  finish(): void {
    const { stream } = this.#options;
    if (stream) this.#finishStream();
    else this.#sendDocument();
  }

  #begin(): void {
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
    });
    if (!this.#options.chat) return;
    this.#response.write(
      this.#event([{ ...choice, delta: { role: 'assistant', content: '' } }], undefined),
    );
  }

  #flush(): void {
    if (this.#sent === this.#generated) return;
    const text = JSON.stringify(textOf(this.#sent, this.#generated));
    this.#sent = this.#generated;
    this.#response.write(`${this.#before}${text}${this.#after}`);
  }

  #finishStream(): void {
    this.#flush();
    const { chat, prompt, includeUsage } = this.#options;
    const end = { ...choice, finish_reason: prompt.finish, stop_reason: null };
    let last = this.#event([chat ? { ...end, delta: { content: '' } } : { ...end, text: '' }]);
    if (includeUsage) last += this.#event([], this.#usage());
    this.#response.end(`${last}data: [DONE]\n\n`);
  }

  #sendDocument(): void {
    const { id, chat, createdS, model, prompt } = this.#options;
    const content = textOf(0, this.#generated);
    const end = { ...choice, finish_reason: prompt.finish, stop_reason: null };
    const body = JSON.stringify({
      id,
      object: chat ? 'chat.completion' : 'text_completion',
      created: createdS,
      model,
      choices: [
        chat ? { ...end, message: { role: 'assistant', content } } : { ...end, text: content },
      ],
      usage: this.#usage(),
    });
    this.#response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    this.#response.end(body);
  }

  #event(choices: readonly object[], usage?: object): string {
    const { id, chat, createdS: created, model } = this.#options;
    const object = chat ? 'chat.completion.chunk' : 'text_completion';
    const event = {
      id,
      object,
      created,
      model,
      choices,
      ...(usage === undefined ? {} : { usage }),
    };
    return `data: ${JSON.stringify(event)}\n\n`;
  }

  #usage(): object {
    const { promptTokens } = this.#options.prompt;
    return {
      prompt_tokens: promptTokens,
      total_tokens: promptTokens + this.#generated,
      completion_tokens: this.#generated,
    };
  }
}

const choice = { index: 0, logprobs: null, finish_reason: null as string | null };

function textOf(from: number, to: number): string {
  let text = '';
  for (let i = from; i < to; i++) text += words[i % words.length];
  return text;
}

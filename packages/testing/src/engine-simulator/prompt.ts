/**
 * What an engine needs to know of an OpenAI request body: how long the prompt is, what of it may
 * be shared with others, and how much output is wanted. A token is four bytes of text.
 */

/** Bytes of text per token; near the truth for English in common vocabularies. */
const tokenBytes = 4;

/** Output when the client names no limit: what the simulated model has to say by itself. */
const naturalOutputTokens = 128;

export interface Prompt {
  promptTokens: number;
  outputTokens: number;
  maxTokens: number;
  finish: 'stop' | 'length';
  blockHashes: Float64Array;
}

export interface CompletionBody {
  model?: unknown;
  messages?: unknown;
  prompt?: unknown;
  max_tokens?: unknown;
  max_completion_tokens?: unknown;
  stream?: unknown;
  stream_options?: { include_usage?: unknown; continuous_usage_stats?: unknown } | null;
}

/** Reads a body; undefined when it has neither messages nor a prompt. */
export function readPrompt(body: CompletionBody, blockTokens: number): Prompt | undefined {
  const content = promptContent(body);
  if (content === undefined) return undefined;
  const bytes = Buffer.from(content.text);
  const promptTokens = Math.max(1, content.tokens + Math.ceil(bytes.length / tokenBytes));
  const given = Number(body.max_completion_tokens ?? body.max_tokens);
  const limited = Number.isInteger(given) && given >= 1;
  const maxTokens = limited ? given : naturalOutputTokens;
  return {
    promptTokens,
    outputTokens: maxTokens,
    maxTokens,
    finish: limited ? 'length' : 'stop',
    blockHashes: hashBlocks(bytes, blockTokens * tokenBytes),
  };
}

function promptContent(body: CompletionBody): { text: string; tokens: number } | undefined {
  if (Array.isArray(body.messages)) {
    let text = '';
    for (const message of body.messages as { role?: unknown; content?: unknown }[]) {
      text += `<${String(message?.role)}>${contentText(message?.content)}`;
    }
    return { text, tokens: 0 };
  }
  if (typeof body.prompt === 'string') return { text: body.prompt, tokens: 0 };
  if (!Array.isArray(body.prompt)) return undefined;
  const parts = (body.prompt as unknown[]).flat();
  if (parts.every((part) => typeof part === 'number')) return { text: '', tokens: parts.length };
  return { text: parts.map(String).join(''), tokens: 0 };
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => String(part?.text ?? '')).join('');
}

/** One hash per whole block, each standing for everything before it too. */
function hashBlocks(bytes: Buffer, blockBytes: number): Float64Array {
  const hashes = new Float64Array(Math.floor(bytes.length / blockBytes));
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let block = 0; block < hashes.length; block++) {
    for (let i = block * blockBytes; i < (block + 1) * blockBytes; i++) {
      low = Math.imul(low ^ bytes[i]!, 0x01000193);
      high = Math.imul(high ^ bytes[i]!, 0x85ebca6b);
    }
    // 21 + 32 bits: what a number holds exactly.
    hashes[block] = (high >>> 11) * 0x1_0000_0000 + (low >>> 0);
  }
  return hashes;
}

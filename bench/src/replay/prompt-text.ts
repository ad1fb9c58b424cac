/** A text whose blocks are shared exactly where a request's are, four bytes to a token. */
import { blockTokens, type RoutingRequest } from '../routing/request.ts';

const tokenBytes = 4;
const blockBytes = blockTokens * tokenBytes;

export function promptText({ id, blocks, promptTokens }: RoutingRequest): string {
  const parts = Array.from(blocks, (block) => blockText(`b${block} `));
  const restBytes = promptTokens * tokenBytes - blocks.length * blockBytes;
  return parts.join('') + blockText(`r${id} `).slice(0, Math.max(0, restBytes));
}

/** Alike at no place with another block's, so that hashes differ whatever their seed. */
function blockText(word: string): string {
  return word.repeat(Math.ceil(blockBytes / word.length)).slice(0, blockBytes);
}

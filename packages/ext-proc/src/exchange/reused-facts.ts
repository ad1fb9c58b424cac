/**
 * The facts of the request that is being picked for. One object per worker: a pick is synchronous,
 * so it is filled before and emptied after each.
 */
import type { RequestFacts } from '@leadsman/scheduling/scheduler';
import type { HeaderList } from '../protobuf/header-list.ts';
import type { RequestFields } from '../request/request-fields.ts';

export class ReusedFacts implements RequestFacts {
  requestId = '';
  poolName = '';
  model = '';
  prompt: Uint8Array | undefined;
  promptTokens = 0;
  maxOutputTokens = 0;
  streaming = false;
  computes = true;
  cacheIdentity = '';
  subset: readonly string[] | undefined;
  nowMs = 0;
  headers: HeaderList | undefined;

  header(name: string): string | undefined {
    return this.headers?.get(name);
  }

  setFields(fields: RequestFields | undefined): void {
    this.model = fields?.model ?? '';
    this.prompt = fields?.prompt;
    this.promptTokens = fields?.promptTokens ?? 0;
    this.maxOutputTokens = fields?.maxOutputTokens ?? 0;
    this.streaming = fields?.streaming ?? false;
    this.cacheIdentity = fields?.cacheIdentity ?? '';
  }

  /** Lets go of the request's buffers. */
  clear(): void {
    this.prompt = undefined;
    this.headers = undefined;
    this.subset = undefined;
  }
}

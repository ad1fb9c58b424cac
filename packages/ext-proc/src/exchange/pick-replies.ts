/**
 * The replies that carry a pick, built once per destination: there are few destinations and many
 * picks. Emptied when full, which only a fleet with ever new fallback lists would notice.
 */
import { pickReply, ReplyTo } from '../protobuf/processing-response.ts';

/** Well above the endpoints of a large fleet. */
const destinationsMax = 16_384;

export class PickReplies {
  readonly #onHeaders = new Map<string, Buffer>();
  readonly #onBody = new Map<string, Buffer>();

  get(to: ReplyTo, destination: string): Buffer {
    if (to === ReplyTo.requestTrailers) return pickReply(to, destination);
    const replies = to === ReplyTo.requestHeaders ? this.#onHeaders : this.#onBody;
    let reply = replies.get(destination);
    if (reply === undefined) {
      if (replies.size >= destinationsMax) replies.clear();
      reply = pickReply(to, destination);
      replies.set(destination, reply);
    }
    return reply;
  }
}

/**
 * Membership from the fleet view itself: every endpoint that reports is a member of one pool.
 * For a laptop, and for clusters whose gateway knows no InferencePool.
 *
 * Whoever may report becomes a destination of requests that way. So only addresses of the networks
 * that the operator names are, and the source is for networks where every sender is trusted.
 *
 * An endpoint joins with its first report and leaves when the view lets it expire, so a pod that
 * vanished without a word stays (as stale, the last resort) until then.
 */

import type { Member } from '@leadsman/scheduling/endpoint';
import type { ViewReader } from '@leadsman/view/reader';
import type { Network } from '@leadsman/wire';
import type { MembershipListener, MembershipSource } from './membership.ts';

/** How often the view is looked at for endpoints that came or left, ms. */
export const viewPollMs = 50;

export class ViewSource implements MembershipSource {
  readonly #reader: ViewReader;
  readonly #pool: string;
  readonly #networks: readonly Network[];
  /** Endpoints left out at the last look, as they lie in none of the networks. */
  #outside = 0;
  #timer: NodeJS.Timeout | undefined;
  #told = '';

  /** `reader` must belong to this source alone. */
  constructor(reader: ViewReader, pool: string, networks: readonly Network[]) {
    this.#reader = reader;
    this.#pool = pool;
    this.#networks = networks;
  }

  start(listener: MembershipListener): void {
    const look = () => {
      const changed = this.#reader.refresh();
      if (!changed && this.#timer !== undefined) return;
      const members = this.#members();
      // A new LoRA set changes the attributes and no member.
      const now = JSON.stringify([members, this.#outside]);
      if (now === this.#told) return;
      this.#told = now;
      listener.poolChanged({
        pool: this.#pool,
        members,
        authorities: [],
        objectives: {},
        reasons: this.#reasons(members.length),
      });
    };
    look();
    this.#timer = setInterval(look, viewPollMs);
  }

  notSynced(): string | undefined {
    return this.#reader.everSynced ? undefined : 'the fleet view has not been complete yet';
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  #reasons(members: number): string[] {
    if (this.#outside > 0) return [`${this.#outside} outside --pool-networks`];
    return members === 0 ? ['no endpoint has reported yet'] : [];
  }

  #members(): Member[] {
    this.#outside = 0;
    const reader = this.#reader;
    const members: Member[] = [];
    for (let slot = 0; slot < reader.slots; slot++) {
      if (!reader.isUsed(slot)) continue;
      const address = reader.address(slot);
      if (!this.#networks.some((network) => network.has(address))) {
        this.#outside++;
        continue;
      }
      const attributes = reader.attributes(slot);
      members.push({
        podKey: reader.podKey(slot),
        address,
        port: reader.port(slot),
        rank: reader.rank(slot),
        podName: attributes?.podName ?? '',
        namespace: attributes?.namespace ?? '',
        labels: {},
      });
    }
    return members;
  }
}

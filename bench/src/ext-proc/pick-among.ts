/** The pick both servers make: the endpoint with the fewest requests in flight, of 100. */
import type { Outcome, PickResult, RequestFacts, Scheduler } from '@leadsman/scheduling/scheduler';

const endpointCount = 100;

export class FewestInFlight {
  readonly destinations = Array.from({ length: endpointCount }, (_, i) => `10.1.0.${i}:8000`);
  readonly #inFlight = new Int32Array(endpointCount);
  #start = 0;

  /** The position of the pick, counted as in flight. */
  take(): number {
    let best = this.#start++ % endpointCount;
    for (let i = 0; i < endpointCount; i++) {
      if (this.#inFlight[i]! < this.#inFlight[best]!) best = i;
    }
    this.#inFlight[best]!++;
    return best;
  }

  giveBack(position: number): void {
    this.#inFlight[position]!--;
  }
}

/** The same pick behind the picker's interface. */
export class BenchScheduler implements Scheduler {
  readonly #among = new FewestInFlight();

  admit(): undefined {}

  endWaits(): void {}

  pick(request: RequestFacts, into: PickResult): void {
    // Whoever picks reads the model; so does the server this one is compared with.
    if (request.model !== 'bench') throw new Error('the body was not read');
    into.ticket = this.#among.take();
    into.status = 'picked';
    into.destination = this.#among.destinations[into.ticket]!;
  }

  servedBy(): undefined {}

  firstToken(): void {}

  withdraw(): void {}

  upstreamFailed(): void {}

  release(ticket: number, _: Outcome): void {
    this.#among.giveBack(ticket);
  }
}

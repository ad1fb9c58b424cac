/** The traffic of the fault tests: a few clients that never pause, and must never fail. */
import {
  ChatClient,
  type Rig,
  type SteadyLoad,
  startSteadyLoad,
  waitUntil,
} from '@leadsman/testing';
import { expect } from 'vitest';

export interface TestLoad {
  readonly load: SteadyLoad;
  /** Resolves when `count` more requests have ended than at the call. */
  more(count: number): Promise<void>;
  /** Stops, and fails the test if any request failed. */
  stopWithoutFailure(): Promise<void>;
}

/** Starts `clients` clients against the rig's gateway. */
export function startLoad(rig: Rig, clients = 6): TestLoad {
  const client = new ChatClient(rig.gatewayUrl, { timeoutMs: 15_000 });
  const load = startSteadyLoad(client, clients, (number) => ({
    prompt: `${number} ${'fathom '.repeat(60)}`,
    outputTokens: 12,
  }));
  return {
    load,
    more: async (count) => {
      const target = load.results.length + count;
      await waitUntil(() => load.results.length >= target, {
        what: `${count} more requests to end`,
        describe: () => `${load.results.length} ended, failures: ${load.failures.join('; ')}`,
      });
    },
    stopWithoutFailure: async () => {
      await load.stop();
      await client.close();
      expect(load.results.length).toBeGreaterThan(0);
      expect(load.failures).toEqual([]);
    },
  };
}

import { describe, expect, it } from 'vitest';
import type { VersionPage } from './engine/profile.ts';
import { EngineVersion } from './engine-version.ts';
import type { VersionOutcome } from './http/version-reader.ts';

const pages: readonly VersionPage[] = [{ path: '/version', field: 'version' }];
const failure: VersionOutcome = { why: 'status 404' };

/** A version page that answers when the test says so. */
function create() {
  const clock = { nowMs: 0 };
  const asked: ((outcome: VersionOutcome) => void)[] = [];
  const told: string[] = [];
  const counters = { versionRequests: 0, versionFailures: 0 };
  let closed = 0;
  const version = new EngineVersion(
    {
      read: () => new Promise((resolve) => asked.push(resolve)),
      close: () => {
        closed++;
        for (const resolve of asked) resolve({ why: 'closed' });
      },
    },
    () => clock.nowMs,
    {
      counters,
      pagesOf: (engine) => (engine === 'vllm' ? pages : []),
      onVersion: (text) => told.push(text),
    },
  );
  return {
    version,
    clock,
    asked,
    told,
    counters,
    closed: () => closed,
    async answer(outcome: VersionOutcome) {
      asked.at(-1)?.(outcome);
      // Behind all that waits for the answer.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('EngineVersion', () => {
  it('asks once after the first good page, and not again in that epoch', async () => {
    const { version, asked, told, counters, answer, clock } = create();
    version.seen('vllm', 7);
    version.seen('vllm', 7);
    expect(asked).toHaveLength(1);
    await answer({ version: '0.11.0', from: '' });
    expect(told).toEqual(['', '0.11.0']);
    clock.nowMs = 100_000_000;
    version.seen('vllm', 7);
    expect(asked).toHaveLength(1);
    expect(counters).toEqual({ versionRequests: 1, versionFailures: 0 });
  });

  it('asks an engine without version page nothing', () => {
    const { version, asked } = create();
    version.seen('lmdeploy', 1);
    expect(asked).toHaveLength(0);
  });

  it('forgets the version at a restart and asks anew, but at most once a minute', async () => {
    const { version, asked, told, answer, clock } = create();
    version.seen('vllm', 1);
    await answer({ version: 'old', from: '' });
    clock.nowMs = 59_999;
    version.seen('vllm', 2);
    expect(told.at(-1)).toBe('');
    expect(asked).toHaveLength(1);
    clock.nowMs = 60_000;
    version.seen('vllm', 2);
    await answer({ version: 'new', from: '' });
    expect(told.at(-1)).toBe('new');
    // A page that looks like a restart at each scrape.
    for (let epoch = 3; epoch < 1_200; epoch++) {
      clock.nowMs += 50;
      version.seen('vllm', epoch);
      await answer({ version: 'new', from: '' });
    }
    expect(asked).toHaveLength(2);
  });

  it('asks again when nobody listened in between, and keeps the old version until then', async () => {
    const { version, asked, told, answer, clock } = create();
    version.seen('vllm', 1);
    await answer({ version: 'old', from: '' });
    version.lost();
    clock.nowMs = 60_000;
    version.seen('vllm', 1);
    expect(asked).toHaveLength(2);
    expect(told.at(-1)).toBe('old');
    await answer({ version: 'new', from: '' });
    expect(told.at(-1)).toBe('new');
  });

  it('waits longer after each failure, from two minutes to an hour, and counts them', async () => {
    const { version, asked, told, counters, answer, clock } = create();
    const gaps: number[] = [];
    let last = 0;
    for (let minute = 0; minute < 400; minute++) {
      clock.nowMs = minute * 60_000;
      version.seen('vllm', 1);
      if (asked.length === gaps.length + 1) {
        gaps.push(minute - last);
        last = minute;
        await answer(failure);
      }
    }
    expect(gaps).toEqual([0, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]);
    expect(counters).toEqual({ versionRequests: 11, versionFailures: 11 });
    expect(told).toEqual(['']);
    // Who comes back after an absence may have the page.
    version.lost();
    clock.nowMs += 60_000;
    version.seen('vllm', 1);
    expect(asked).toHaveLength(12);
  });

  it('drops the answer of an engine that is not there any more', async () => {
    const { version, told, answer, clock } = create();
    version.seen('vllm', 1);
    version.seen('vllm', 2);
    await answer({ version: 'of epoch 1', from: '' });
    expect(told).toEqual(['', '']);
    clock.nowMs = 60_000;
    version.seen('vllm', 2);
    version.lost();
    await answer({ version: 'of who left', from: '' });
    expect(told).toEqual(['', '']);
  });

  it('ends what is under way when it is stopped, and begins nothing after it', async () => {
    const { version, asked, told, clock, closed } = create();
    version.seen('vllm', 1);
    await version.stop();
    expect(closed()).toBe(1);
    clock.nowMs = 1e9;
    version.seen('vllm', 2);
    expect(asked).toHaveLength(1);
    expect(told).toEqual(['', '']);
  });
});

import { expect, it } from 'vitest';
import { lookIntervalMs, type ProcessState, readProcessState, Watchdog } from './watchdog.ts';

/** A watchdog over one process whose beats and state the test sets. */
function setup() {
  const process = { beats: 0, state: { state: 'R', cpuMs: 0 } as ProcessState | undefined };
  const watchdog = new Watchdog(() => process.state);
  watchdog.begin(0, 1, () => process.beats);
  process.beats++;
  watchdog.look();
  /** Looks that it takes to find it, at most `most`. */
  const looks = (most: number, each: () => void = () => {}): number | undefined => {
    for (let look = 1; look <= most; look++) {
      each();
      if (watchdog.look().includes(0)) return look;
    }
    return undefined;
  };
  return { process, watchdog, looks };
}

it('finds nothing while beats come, and begins anew with each', () => {
  const { process, looks } = setup();
  process.state = { state: 'S', cpuMs: 0 };
  let look = 0;
  expect(looks(1_000, () => look++ % 10 === 0 && process.beats++)).toBeUndefined();
});

it('finds a stopped process at once, a sleeping and a spinning one within a second', () => {
  const stopped = setup();
  stopped.process.state = { state: 'T', cpuMs: 0 };
  expect(stopped.looks(100)! * lookIntervalMs).toBeLessThanOrEqual(200);
  const sleeping = setup();
  sleeping.process.state = { state: 'S', cpuMs: 0 };
  expect(sleeping.looks(100)! * lookIntervalMs).toBeLessThanOrEqual(1_000);
  const spinning = setup();
  const spin = () => {
    spinning.process.state!.cpuMs += lookIntervalMs;
  };
  expect(spinning.looks(100, spin)! * lookIntervalMs).toBeLessThanOrEqual(1_000);
});

it('waits for a process that the machine does not let run, but not for ever', () => {
  const { looks } = setup();
  const found = looks(1_000)! * lookIntervalMs;
  expect(found).toBeGreaterThan(5_000);
  expect(found).toBeLessThanOrEqual(10_000);
});

it('waits as long for one of which nothing is known', () => {
  const { process, looks } = setup();
  process.state = undefined;
  expect(looks(1_000)! * lookIntervalMs).toBeGreaterThan(5_000);
});

it('lets a process start for longer, but not stand still', () => {
  const process = { state: 'S', cpuMs: 0 };
  const watchdog = new Watchdog(() => process);
  watchdog.begin(0, 1, () => 0);
  let looks = 1;
  while (watchdog.look().length === 0) looks++;
  expect(looks * lookIntervalMs).toBeGreaterThanOrEqual(30_000);
  watchdog.begin(0, 1, () => 0);
  process.state = 'T';
  looks = 1;
  while (watchdog.look().length === 0) looks++;
  expect(looks * lookIntervalMs).toBeLessThanOrEqual(200);
});

it('names each process once, and none that ended', () => {
  const { process, watchdog, looks } = setup();
  process.state = { state: 'T', cpuMs: 0 };
  expect(looks(100)).toBeDefined();
  expect(looks(100)).toBeUndefined();
  watchdog.begin(0, 1, () => 0);
  watchdog.end(0);
  expect(looks(100)).toBeUndefined();
});

it("reads the kernel's account of this very process", () => {
  const before = readProcessState(process.pid)!;
  expect(before.state).toBe('R');
  const end = performance.now() + 10_000;
  while (readProcessState(process.pid)!.cpuMs < before.cpuMs + 50) {
    if (performance.now() > end) throw new Error('no CPU time was accounted');
  }
  expect(readProcessState(2 ** 30)).toBeUndefined();
});

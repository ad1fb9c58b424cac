import { expect, it } from 'vitest';
import { WorkerRegistry } from './worker-registry.ts';

it('serves when all listen, and from then on as long as one does', () => {
  const registry = new WorkerRegistry(2);
  registry.listening(0);
  expect(registry.serving).toBe(false);
  registry.listening(1);
  expect(registry.serving).toBe(true);
  registry.ended(0);
  expect(registry.serving).toBe(true);
  registry.ended(1);
  expect(registry.serving).toBe(false);
  registry.listening(1);
  expect(registry.serving).toBe(true);
});

it('does not wait for a worker that ended to drain', () => {
  const registry = new WorkerRegistry(2);
  registry.listening(0);
  registry.listening(1);
  registry.drained(0);
  expect(registry.allDrained(2)).toBe(false);
  registry.ended(1);
  expect(registry.allDrained(1)).toBe(true);
  // One that had drained and then ended counts on neither side.
  registry.ended(0);
  expect(registry.allDrained(1)).toBe(false);
  expect(registry.allDrained(0)).toBe(true);
});

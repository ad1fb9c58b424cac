import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../process/wait-until.ts';
import { type EngineProcess, launchEngineSimulators } from './launch.ts';

let engines: EngineProcess;

beforeAll(async () => {
  engines = await launchEngineSimulators([{ host: '127.0.7.1' }, { host: '127.0.7.2', speed: 0 }]);
});

afterAll(() => engines.stop());

describe('launchEngineSimulators', () => {
  it('gives each engine the address that it was told to have', () => {
    expect(engines.engines.map((engine) => engine.host)).toEqual(['127.0.7.1', '127.0.7.2']);
  });

  it('takes faults and speeds while it runs, and tells what the engines do', async () => {
    const [first, second] = engines.engines;
    first?.setFaults({ metricsStatus: 503 });
    await waitUntil(async () => (await fetch(`${first?.url}/metrics`)).status === 503, {
      what: 'the fault to show',
    });
    const reply = fetch(`${second?.url}/v1/completions`, {
      method: 'POST',
      body: JSON.stringify({ prompt: 'a', max_tokens: 2 }),
    });
    await waitUntil(async () => (await engines.state()).engines[1]?.served === 1, {
      what: 'the request to arrive',
    });
    second?.setSpeed(10);
    expect((await reply).status).toBe(200);
    expect((await engines.state()).cpuMs).toBeGreaterThan(0);
  });
});

import { expect, it } from 'vitest';
import { EngineProcesses } from './engine-processes.ts';

it('one of several engines dies alone, and comes back where it was', async () => {
  const engines = await EngineProcesses.launch([{}, {}], true);
  try {
    const [first, second] = engines.engines;
    const answers = async (url: string) => (await fetch(`${url}/health`)).status;
    const { process } = engines.processes[0]!;
    process.kill();
    await process.exited;
    await expect(answers(first!.url)).rejects.toThrow();
    expect(await answers(second!.url)).toBe(200);
    await engines.restart(0);
    expect(engines.engines[0]!.url).toBe(first!.url);
    expect(await answers(first!.url)).toBe(200);
    expect((await engines.state()).engines).toHaveLength(2);
  } finally {
    await engines.stop();
  }
});

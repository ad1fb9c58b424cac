import { expect, it } from 'vitest';
import { startFakeProcess } from '../ask/process.fixture.ts';
import { versionCommand } from './version.ts';

async function run(...args: string[]) {
  const seen = { out: '', code: 0 };
  const io = {
    write(text: string): void {
      seen.out += text;
    },
    warn: () => {},
    setExitCode(code: number): void {
      seen.code = code;
    },
  };
  await versionCommand(io).parseAsync(args, { from: 'user' });
  return seen;
}

it('says the version of the tool', async () => {
  expect((await run()).out).toMatch(/^leadsman \d+\.\d+\.\d+ \(wire 1, Node \d+/);
});

it('says the versions of running processes, and who says none', async () => {
  const ours = await startFakeProcess({ '/healthz': 'ok\n' }, '9.8.7');
  const other = await startFakeProcess({ '/healthz': 'ok\n' }, '');
  try {
    expect(await run(ours.url)).toMatchObject({ code: 0 });
    const { out, code } = await run(ours.url, other.url, '127.0.0.1:1', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out).processes).toMatchObject([
      { version: '9.8.7', problem: null },
      { version: null, problem: expect.stringMatching(/none of ours/) },
      { version: null, problem: expect.stringMatching(/nobody listens/) },
    ]);
  } finally {
    await ours.close();
    await other.close();
  }
});

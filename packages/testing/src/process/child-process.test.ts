import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { launchProcess } from './child-process.ts';
import { waitUntil } from './wait-until.ts';

const idle = ['-e', 'setInterval(() => {}, 1000); console.log("up")'];

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('launchProcess', () => {
  it('keeps the output and tells how the process ended', async () => {
    const lines: string[] = [];
    const child = await launchProcess({
      name: 'talker',
      command: process.execPath,
      args: ['-e', 'console.log("one"); console.error("two"); process.exitCode = 3'],
      onLine: (line) => lines.push(line),
    });
    expect(await child.exited).toEqual({ code: 3, signal: null });
    await waitUntil(() => lines.length === 2, { what: 'both lines' });
    expect(lines.sort()).toEqual(['one', 'two']);
    expect(child.kill()).toBe(false);
  });

  it('kills a process that ignores SIGTERM', async () => {
    const child = await launchProcess({
      name: 'deaf',
      command: process.execPath,
      args: [
        '-e',
        'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("up")',
      ],
    });
    await waitUntil(() => child.output().includes('up'), { what: 'the process to be up' });
    expect(await child.stop(50)).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('rejects when there is no such command', async () => {
    await expect(launchProcess({ name: 'ghost', command: '/nonexistent/command' })).rejects.toThrow(
      'ghost cannot be started',
    );
  });

  it('leaves no child behind when its own process is killed', async () => {
    const source = `
      import { launchProcess } from ${JSON.stringify(new URL('./child-process.ts', import.meta.url).href)};
      const one = await launchProcess({ name: 'a', command: process.execPath, args: ['-e', 'setTimeout(() => {}, 1)'] });
      await one.exited;
      const two = await launchProcess({ name: 'b', command: process.execPath, args: ${JSON.stringify(idle)} });
      console.log(two.pid);
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [chunk] = await once(parent.stdout, 'data');
    const pid = Number(String(chunk));
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await waitUntil(() => !isAlive(pid), { what: 'the orphan to be killed' });
  });
});

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

function leadsman(...args: string[]) {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

it('ends with 0 when asked for help or its version', () => {
  expect(leadsman('--help')).toMatchObject({ status: 0, stderr: '' });
  expect(leadsman('--version')).toMatchObject({ status: 0 });
  expect(leadsman('top', '--help')).toMatchObject({ status: 0 });
});

it('ends with 1 when nobody answers', () => {
  const { status, stdout } = leadsman('top', '127.0.0.1:1', '--interval-ms', '1');
  expect(status).toBe(1);
  expect(stdout).toContain('nobody listens there');
});

it.each([[['nonsense']], [['top', '--sort', 'x']], [['reload']], [['explain', '/not/there']]])(
  'ends with 2 when used wrongly: %j',
  (args) => {
    const { status, stdout, stderr } = leadsman(...args);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).not.toBe('');
  },
);

import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleTool } from './bundle.ts';

let folder: string;
let tool: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-tool-'));
  tool = join(folder, 'leadsman.mjs');
  await bundleTool(tool);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Where nothing of the checkout can be found. */
function leadsman(args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [tool, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: {},
  });
  return { status, stdout, stderr };
}

it('is one file', async () => {
  expect(await readdir(folder)).toEqual(['leadsman.mjs']);
});

it('runs by node alone: version, help, completion', () => {
  expect(leadsman(['version'])).toMatchObject({ status: 0, stderr: '' });
  expect(leadsman(['--help']).stdout).toContain('doctor');
  expect(leadsman(['completion', 'bash'])).toMatchObject({ status: 0, stderr: '' });
});

it('reads a page, makes a manifest, and asks processes', async () => {
  const page =
    '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="m"} 3\n';
  await writeFile(join(folder, 'page.txt'), page);
  expect(leadsman(['explain', 'page.txt'])).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('vllm'),
  });
  const pod =
    'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: e, image: vllm}]}\n';
  await writeFile(join(folder, 'pod.yaml'), pod);
  expect(leadsman(['inject', '-f', 'pod.yaml'])).toMatchObject({ status: 0 });
  expect(leadsman(['doctor', '127.0.0.1:1', '--interval-ms', '1'])).toMatchObject({
    status: 1,
    stderr: '',
  });
});

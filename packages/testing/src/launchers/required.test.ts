import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cachedToolPath, locateTool } from '../../../../scripts/fetch-tools.mjs';
import { requireNats } from './required.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-tools-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function placeTool(path: string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, '#!/bin/sh\n');
  await chmod(path, 0o755);
  return path;
}

describe('where a tool is looked for', () => {
  it('is its variable, then PATH, then the cache', async () => {
    const env = { XDG_CACHE_HOME: join(folder, 'cache'), PATH: join(folder, 'bin') };
    expect(locateTool('nats', env)).toBeUndefined();
    const cached = await placeTool(cachedToolPath('nats', env));
    expect(locateTool('nats', env)).toBe(cached);
    const onPath = await placeTool(join(folder, 'bin', 'nats-server'));
    expect(locateTool('nats', env)).toBe(onPath);
    const named = await placeTool(join(folder, 'my-nats'));
    expect(locateTool('nats', { ...env, NATS_SERVER_BIN: named })).toBe(named);
  });

  it('is an error when the variable names nothing that can run', () => {
    expect(() => locateTool('envoy', { ENVOY_BIN: join(folder, 'nothing') })).toThrow('ENVOY_BIN');
  });
});

describe('a test that needs a tool that is missing', () => {
  const nowhere = () => ({ XDG_CACHE_HOME: folder, PATH: folder });

  it('is skipped loudly on a laptop', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    expect(requireNats(nowhere())).toBe(false);
    expect(warn.mock.calls.join()).toContain('SKIPPED');
    warn.mockRestore();
  });

  it('fails where CI=true', () => {
    expect(() => requireNats({ ...nowhere(), CI: 'true' })).toThrow('NATS is missing');
  });
});

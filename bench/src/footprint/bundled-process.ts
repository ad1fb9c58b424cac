/** Starts a process from a folder of bundles, as an image does, or from its sources. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchProcess, waitUntil } from '@leadsman/testing';

export interface BundledProcess {
  readonly pid: number;
  /** Where it listens, by its log. */
  readonly address: string;
  stop(): Promise<void>;
}

/**
 * Resolves when it listens. Flags are given by their camelCase names. Without a folder it runs
 * from its sources, which takes more memory but no time for bundling.
 */
export async function launchBundled(
  folder: string | undefined,
  name: string,
  nodeFlags: readonly string[],
  flags: Readonly<Record<string, string | number>>,
  env: Readonly<Record<string, string>> = {},
): Promise<BundledProcess> {
  const args = [
    ...nodeFlags,
    folder === undefined ? sourceOf(name) : join(folder, `${name}.mjs`),
    ...Object.entries(flags).map(([key, value]) => `--${kebab(key)}=${value}`),
  ];
  return launchNode(name, args, env);
}

/** Starts Node with these arguments; resolves when the program logs its address. */
export async function launchNode(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<BundledProcess> {
  let address: string | undefined;
  const child = await launchProcess({
    name,
    command: process.execPath,
    args: [...args],
    env,
    onLine: (line) => {
      address ??= /"address":"([^"]+)"/.exec(line)?.[1];
    },
  });
  await waitUntil(() => address !== undefined || child.exitState !== undefined, {
    what: `${name} to listen`,
    describe: () => child.output(),
  });
  if (address === undefined) throw new Error(`${name} ended:\n${child.output()}`);
  return {
    pid: child.pid,
    address,
    stop: async () => {
      await child.stop();
    },
  };
}

function sourceOf(name: string): string {
  return fileURLToPath(new URL(`../../../packages/${name}/src/main.ts`, import.meta.url));
}

function kebab(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * The processes as bundles: one file per process and thread in one folder, with what they share in
 * common chunks, and the few data files they read. The folder is all an image holds beside Node.
 *
 * A thread or a data file is named in the sources by `new URL('./x', import.meta.url)`. Such a
 * place is rewritten to the name its target has in the folder, so that it works from there.
 */
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, type Plugin } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Name in the image → where it starts. */
export const processes = {
  sidecar: 'packages/sidecar/src/main.ts',
  'node-agent': 'packages/node-agent/src/main.ts',
  collector: 'packages/collector/src/main.ts',
  picker: 'packages/picker/src/main.ts',
  injector: 'packages/injector/src/main.ts',
  leadsman: 'packages/cli/src/main.ts',
} as const;

/** CommonJS packages inside the bundles ask for `require` and their own place. */
const banner = [
  "import { createRequire as bundledCreateRequire } from 'node:module';",
  'const require = bundledCreateRequire(import.meta.url);',
  'const __filename = import.meta.filename;',
  'const __dirname = import.meta.dirname;',
].join('');

const place = /new URL\(\s*'(\.{1,2}\/[^']+)',\s*import\.meta\.url\s*\)/g;

export interface BundleResult {
  /** Bytes of the whole folder. */
  readonly bytes: number;
  readonly files: number;
}

/** Fills `out` anew. Throws when a bundle cannot be made, or holds what no image may hold. */
export async function bundle(out: string): Promise<BundleResult> {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const entries = new Map<string, string>(
    Object.entries(processes).map(([name, path]) => [join(root, path), name]),
  );
  const assets = new Map<string, string>();
  let metafile: Metafile | undefined;
  // Threads are found while bundling, and may themselves name further ones.
  for (let known = 0; known < entries.size; ) {
    known = entries.size;
    metafile = (await bundleOnce(out, entries, assets)).metafile;
  }
  for (const [source, name] of assets) await copyFile(source, join(out, name));
  await writeFile(join(out, 'package.json'), '{"type":"module","private":true}\n');
  const outputs = Object.entries(metafile?.outputs ?? {});
  const inputs = Object.keys(metafile?.inputs ?? {});
  const stray = inputs.filter((input) => input.startsWith('packages/testing/'));
  if (stray.length > 0) throw new Error(`bundles hold code of tests: ${stray.join(', ')}`);
  return {
    bytes: outputs.reduce((sum, [, output]) => sum + output.bytes, 0),
    files: outputs.length + assets.size,
  };
}

/**
 * The command-line tool as one file at `out`, for those without an image; returns its bytes. Throws
 * when it would need another file beside it.
 */
export async function bundleTool(out: string): Promise<number> {
  const assets = new Map<string, string>();
  const entry = join(root, processes.leadsman);
  const entries = new Map([[entry, 'leadsman']]);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile: out,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'eof',
    banner: { js: `#!/usr/bin/env node\n${banner}` },
    metafile: true,
    logLevel: 'warning',
    plugins: [places(entries, assets)],
  });
  const others = [...assets.keys(), ...[...entries.keys()].filter((path) => path !== entry)];
  if (others.length > 0) throw new Error(`the tool would need ${others.join(', ')} beside it`);
  await chmod(out, 0o755);
  const [output] = Object.values(metafile.outputs);
  return output?.bytes ?? 0;
}

function bundleOnce(out: string, entries: Map<string, string>, assets: Map<string, string>) {
  return build({
    absWorkingDir: root,
    entryPoints: [...entries].map(([path, name]) => ({ in: path, out: name })),
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'linked',
    banner: { js: banner },
    metafile: true,
    logLevel: 'warning',
    plugins: [places(entries, assets)],
  });
}

function places(entries: Map<string, string>, assets: Map<string, string>): Plugin {
  const nameOf = (target: string): string => {
    const folder = relative(join(root, 'packages'), target).split(sep)[0];
    const file = basename(target);
    if (!file.endsWith('.ts')) {
      const name = `${folder}-${file}`;
      assets.set(target, name);
      return name;
    }
    const known = entries.get(target) ?? `${folder}-${file.slice(0, -3)}`;
    entries.set(target, known);
    return `${known}.mjs`;
  };
  return {
    name: 'places',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]packages[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        const contents = source.replace(place, (_, target: string) => {
          const name = nameOf(resolve(dirname(path), target));
          return `new URL('./${name}', import.meta.url)`;
        });
        return { contents, loader: 'ts' };
      });
    },
  };
}

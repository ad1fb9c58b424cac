/**
 * `npm run build:cli [-- FILE]`: the command-line tool as one file that runs by `node leadsman.mjs`,
 * by default `dist/leadsman.mjs`. It needs Node and nothing else.
 */
import { relative, resolve } from 'node:path';
import { bundleTool } from './images/bundle.ts';

const out = resolve(process.argv[2] ?? 'dist/leadsman.mjs');
const bytes = await bundleTool(out);
process.stdout.write(`${relative(process.cwd(), out)}: ${bytes} bytes\n`);

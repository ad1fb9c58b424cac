import { request, usageFinder } from './bodies.ts';
import { exposition } from './exposition.ts';
import { extProc } from './ext-proc.ts';
import { feed } from './feed.ts';
import { frames } from './frames.ts';
import type { FuzzTarget } from './target.ts';

export const targets: readonly FuzzTarget[] = [
  ...[exposition, frames, extProc, request, usageFinder, feed],
];

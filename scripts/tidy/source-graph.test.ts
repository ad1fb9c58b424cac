import { expect, it } from 'vitest';
import { circlesOf, folderGraph, sourceGraph } from './source-graph.ts';

const file = (path: string, text: string) => ({ path: `packages/${path}`, text });

it('finds a circle of two folders of which no two files form one', () => {
  const { files } = sourceGraph([
    file('a/src/x/one.ts', "import { two } from '../y/two.ts';"),
    file('a/src/x/three.ts', ''),
    file('a/src/y/two.ts', "import type { Three } from '../x/three.ts';"),
  ]);
  expect(circlesOf(files)).toEqual([]);
  expect(circlesOf(folderGraph(files))).toEqual([['packages/a/src/x', 'packages/a/src/y']]);
});

it('finds a circle of files, also through packages and re-exports', () => {
  const { files, packages } = sourceGraph([
    file('a/src/one.ts', "export { two } from '@leadsman/b/two';"),
    file('b/src/two.ts', "import '@leadsman/a/one';"),
    file('b/src/free.ts', "import { one } from '@leadsman/a/one';"),
  ]);
  expect(circlesOf(files)).toEqual([['packages/a/src/one.ts', 'packages/b/src/two.ts']]);
  expect(circlesOf(packages)).toEqual([['a', 'b']]);
});

it('leaves out tests, fixtures and the entry of a package', () => {
  const { files } = sourceGraph([
    file('a/src/index.ts', "export * from './x/one.ts';"),
    file('a/src/x/one.ts', ''),
    file('a/src/x/one.test.ts', "import '../y/two.ts';"),
    file('a/src/y/two.ts', "import '../x/one.ts';"),
    file('a/src/x/fixture/rig.ts', "import '../../y/two.ts';"),
  ]);
  expect(circlesOf(folderGraph(files))).toEqual([]);
});

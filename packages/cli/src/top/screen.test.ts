import { expect, it } from 'vitest';
import { sampleFleet, sampleRow } from './sample-row.ts';
import { type ScreenSettings, screenOf } from './screen.ts';

const settings: ScreenSettings = {
  sort: 'trouble',
  reverse: false,
  filter: '',
  columns: 80,
  rows: 24,
  offset: 0,
  colour: false,
  footer: 'q quit',
};

it('is read in 80 columns', () => {
  const rows = [
    sampleRow({
      name: 'llama-3-70b-instruct-6d8f9c7b5d-x2k4j',
      state: 'stale',
      reason: 'unauthorized',
      ageMs: 83_000,
    }),
    sampleRow({
      name: 'b',
      state: 'unknown',
      reason: '',
      ageMs: null,
      running: null,
      kvUsage: null,
      inFlight: null,
      picksPerS: null,
      waiting: null,
    }),
    sampleRow({ name: 'c', ageMs: 2_345 }),
  ];
  expect(`\n${screenOf(sampleFleet(rows), settings).lines.join('\n')}\n`).toBe(`
3 endpoints: 1 stale, 1 unknown, 1 fresh
127.0.0.1:9090  ready

POOL                                     UP  FRESH    RUN   WAIT FLIGHT  PICKS/S
serving/chat                              3      1      3      0      3      1.5
  1 of 9: not ready

3 shown, by trouble
ENDPOINT               STATE                 AGE   RUN  WAIT   KV FLIGHT PICKS/S
b                      unknown                 -     -     -    -      -       -
llama-3-70b…7b5d-x2k4j stale:unauthorized     1m     3     0  25%      3     1.5
c                      fresh                2.3s     3     0  25%      3     1.5

q quit
`);
});

const thousand = sampleFleet(
  Array.from({ length: 1_000 }, (_, i) =>
    sampleRow({
      name: `llama-3-70b-instruct-${i}`,
      state: i % 50 === 0 ? 'stale' : 'fresh',
      reason: i % 50 === 0 ? 'http_status' : 'ok',
      running: i * 100,
      inFlight: i * 1_000,
      picksPerS: i * 10,
      node: `gpu-node-in-a-very-long-data-centre-${i}`,
    }),
  ),
);

it.each([[40], [80], [100], [200]])(
  'keeps 1,000 endpoints within %i columns and the rows',
  (columns) => {
    const screen = screenOf(thousand, { ...settings, columns, offset: 500 });
    for (const line of screen.lines) expect(line.length).toBeLessThanOrEqual(columns);
    expect(screen.lines.length).toBe(24);
    expect(screen).toMatchObject({ matching: 1_000, fitting: 13 });
    expect(screen.lines).toContain('501 to 513 of 1000 shown, by trouble');
  },
);

it('tells a pod that went silent from one that cannot be scraped', () => {
  const rows = [sampleRow({ state: 'stale', reason: 'ok', ageMs: 6_000 })];
  expect(screenOf(sampleFleet(rows), settings).lines.join('\n')).toMatch(/engine-0 +stale:silent/);
});

it('scrolls to the end and not beyond', () => {
  const { lines } = screenOf(thousand, { ...settings, sort: 'name', offset: 5_000 });
  expect(lines.at(-3)).toMatch(/^llama-3-70b…nstruct-999 /);
});

it('shows all of them where the rows have no end', () => {
  const { lines } = screenOf(thousand, { ...settings, rows: Number.POSITIVE_INFINITY });
  expect(lines.filter((line) => /^llama/.test(line)).length).toBe(1_000);
});

it('says the same without colours as with them', () => {
  const plain = screenOf(thousand, settings).lines;
  const painted = screenOf(thousand, { ...settings, colour: true }).lines;
  expect(painted).not.toEqual(plain);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are escape sequences
  expect(painted.map((line) => line.replace(/\x1b\[\d+m/g, ''))).toEqual(plain);
});

it('says why it is empty', () => {
  const empty = (filter: string, ok: boolean) =>
    screenOf(
      { sources: [{ url: 'a', text: 'b', ok }], pools: [], endpoints: [] },
      { ...settings, filter, footer: '' },
    ).lines.at(-1);
  expect(empty('x', true)).toBe('nothing matches "x"');
  expect(empty('', true)).toBe('no endpoints');
  expect(empty('', false)).toBe('nothing is known: see above');
});

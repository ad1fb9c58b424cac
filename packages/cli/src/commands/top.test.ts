import { EventEmitter } from 'node:events';
import { waitUntil } from '@leadsman/testing';
import { afterEach, expect, it } from 'vitest';
import { type FakeProcess, startFakeProcess } from '../ask/process.fixture.ts';
import { topCommand } from './top.ts';

const started: FakeProcess[] = [];
afterEach(async () => {
  for (const fake of started.splice(0)) await fake.close();
});

async function picker(): Promise<FakeProcess> {
  let picks = 0;
  const fake = await startFakeProcess({
    '/readyz': 'ok\n',
    '/v1/pools': { pools: [{ pool: 'ns/chat', reasons: [] }] },
    '/v1/endpoints': () => {
      picks += 10;
      const endpoint = { pool: 'ns/chat', destination: '10.0.0.1:8000', podName: 'engine-0' };
      const numbers = { state: 'fresh', reason: 'ok', ageMs: 5, runningRequests: 4, inFlight: 2 };
      return { body: { endpoints: [{ ...endpoint, ...numbers, picks }] } };
    },
  });
  started.push(fake);
  return fake;
}

class Keyboard extends EventEmitter {
  setRawMode(): void {}
  setEncoding(): void {}
  resume(): void {}
  pause(): void {}
}

class Display extends EventEmitter {
  columns = 80;
  rows = 24;
  text = '';
  write(text: string): boolean {
    this.text += text;
    return true;
  }
}

function run(args: string[], terminal?: { input: Keyboard; output: Display }) {
  const seen = { out: '', err: '', code: 0 };
  const command = topCommand({
    write: (text) => {
      seen.out += text;
    },
    warn: (text) => {
      seen.err += text;
    },
    setExitCode: (code) => {
      seen.code = code;
    },
    nowMs: () => performance.now(),
    terminal,
    colour: false,
  });
  return { seen, ended: command.parseAsync(args, { from: 'user' }) };
}

it('is one snapshot where there is no terminal, with picks per second', async () => {
  const { url } = await picker();
  const { seen, ended } = run([url.replace('http://', ''), '--interval-ms', '50']);
  await ended;
  expect(seen.code).toBe(0);
  expect(seen.out).toMatch(/^engine-0 +fresh +5ms +4 +- +- +2 +\d+\.\d$/m);
  expect(seen.out).not.toContain('\x1b');
});

it('is a JSON object, unknown being null', async () => {
  const { url } = await picker();
  const { seen, ended } = run([url, '--json', '--interval-ms', '50']);
  await ended;
  const { sources, endpoints } = JSON.parse(seen.out);
  expect(sources).toEqual([{ url: url.slice(7), text: 'ready', ok: true }]);
  expect(endpoints[0]).toMatchObject({ running: 4, waiting: null });
  expect(endpoints[0].picksPerS).toBeGreaterThan(0);
});

it('says who does not answer, shows the others, and ends with 1', async () => {
  const { url } = await picker();
  const { seen, ended } = run([url, '127.0.0.1:1', '--interval-ms', '50']);
  await ended;
  expect(seen.code).toBe(1);
  expect(seen.out).toContain('127.0.0.1:1  nobody listens there');
  expect(seen.out).toContain('engine-0');
});

it('says that a picker is not ready, that one wants a token, and that a page is none of ours', async () => {
  const fake = await picker();
  const text = async () => {
    const { seen, ended } = run([fake.url, '--interval-ms', '1']);
    await ended;
    return seen.out;
  };
  fake.pages['/readyz'] = () => ({ status: 503, body: 'draining\n' });
  expect(await text()).toMatch(/:\d+ {2}draining$/m);
  fake.pages['/v1/endpoints'] = () => ({ status: 401 });
  expect(await text()).toContain('--token-file');
  fake.pages['/v1/endpoints'] = '<html>';
  expect(await text()).toContain('something else than JSON');
});

it('goes on on a terminal until q, by keys', async () => {
  const { url } = await picker();
  const terminal = { input: new Keyboard(), output: new Display() };
  const { ended } = run([url, '--interval-ms', '20'], terminal);
  const shows = (text: string) =>
    waitUntil(() => terminal.output.text.includes(text), { what: `"${text}" on the screen` });
  await shows('engine-0');
  terminal.input.emit('data', 's');
  await shows('by name');
  terminal.input.emit('data', '/nobody');
  await shows('nothing matches');
  terminal.input.emit('data', '\r');
  terminal.input.emit('data', 'q');
  await ended;
  expect(terminal.output.text.endsWith('\x1b[?1049l')).toBe(true);
});

it('shows on a terminal that the picker went away, and that it came back', async () => {
  const fake = await picker();
  const terminal = { input: new Keyboard(), output: new Display() };
  const { ended } = run([fake.url, '--interval-ms', '20'], terminal);
  const { '/v1/endpoints': page } = fake.pages;
  const shows = (text: string) =>
    waitUntil(() => terminal.output.text.includes(text), { what: `"${text}" on the screen` });
  await shows('engine-0');
  fake.pages['/v1/endpoints'] = () => ({ status: 500 });
  await shows('answered 500');
  terminal.output.text = '';
  fake.pages['/v1/endpoints'] = page!;
  await shows('engine-0');
  terminal.input.emit('data', '\x03');
  await ended;
});

it.each([['http://user:pw@h:1'], ['ftp://h'], ['h:99999']])(
  'refuses %s as an address',
  async (url) => {
    const io = {
      write() {},
      warn() {},
      setExitCode() {},
      nowMs: () => 0,
      terminal: undefined,
      colour: false,
    };
    const top = topCommand(io)
      .exitOverride()
      .configureOutput({ writeErr: () => {} });
    await expect(top.parseAsync([url], { from: 'user' })).rejects.toThrow(/URL/);
  },
);

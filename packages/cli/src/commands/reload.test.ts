import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { reloadCommand } from './reload.ts';

let server: Server | undefined;
afterEach(() => new Promise<void>((done) => (server ? server.close(() => done()) : done())));

async function picker(status: number, body: unknown): Promise<string> {
  server = createServer((request, response) => {
    response.statusCode = request.method === 'POST' && request.url === '/v1/reload' ? status : 404;
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((ready) => server!.listen(0, '127.0.0.1', ready));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function run(...args: string[]) {
  const seen = { out: '', err: '', code: 0 };
  const io = {
    write(text: string): void {
      seen.out += text;
    },
    warn(text: string): void {
      seen.err += text;
    },
    setExitCode(code: number): void {
      seen.code = code;
    },
  };
  await reloadCommand(io).parseAsync(args, { from: 'user' });
  return seen;
}

it('says that the new configuration is in use', async () => {
  const url = await picker(200, { reloaded: true });
  expect(await run(url)).toEqual({ out: `${url}: in use\n`, err: '', code: 0 });
});

it('shows what the picker found wrong', async () => {
  const url = await picker(422, {
    reloaded: false,
    problems: ['a.yaml:3: unknown', 'a.yaml:9: no'],
  });
  const { err, code } = await run(url);
  expect(err).toBe(`${url}: a.yaml:3: unknown\n${url}: a.yaml:9: no\n`);
  expect(code).toBe(1);
});

it('does not hang on a picker that is not there', async () => {
  const { err, code } = await run('http://127.0.0.1:1', '--timeout-ms', '500');
  expect(err).toMatch(/no answer/);
  expect(code).toBe(1);
});

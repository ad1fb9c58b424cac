import { Counter, Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAdmin } from './admin.ts';
import { createLogger } from './log.ts';

describe('createAdmin', () => {
  let missing: string | undefined;
  const registry = new Registry();
  new Counter({ name: 'things_total', help: 'Things.', registers: [registry] }).inc(3);
  const logger = createLogger({ name: 'test', level: 'silent' });
  let server: ReturnType<typeof createAdmin>;

  beforeEach(() => {
    missing = undefined;
    server = createAdmin({ registry, logger, ready: () => missing });
  });
  afterEach(() => server.close());

  it('is alive whatever it waits for', async () => {
    missing = 'no broker';
    expect((await server.inject('/healthz')).statusCode).toBe(200);
  });

  it('states why it is not ready', async () => {
    expect((await server.inject('/readyz')).statusCode).toBe(200);
    missing = 'view not synced';
    const reply = await server.inject('/readyz');
    expect(reply.statusCode).toBe(503);
    expect(reply.body).toBe('view not synced\n');
  });

  it('serves its metrics', async () => {
    const reply = await server.inject('/metrics');
    expect(reply.headers['content-type']).toMatch(/text\/plain/);
    expect(reply.body).toMatch(/^things_total 3$/m);
  });

  it('says its version with every answer, also where there is no page', async () => {
    for (const url of ['/healthz', '/metrics', '/nowhere']) {
      const { headers } = await server.inject(url);
      expect(headers['x-leadsman-version'], url).toMatch(/^\d+\.\d+\.\d+$/);
    }
  });

  it('answers a fault as JSON, with the code of the fault', async () => {
    server.get('/broken', () => {
      throw new Error('on purpose');
    });
    const reply = await server.inject('/broken');
    expect(reply.statusCode).toBe(500);
    expect(reply.json()).toEqual({ error: { code: 'internal', message: 'on purpose' } });
  });

  describe('with a word on who may ask', () => {
    const asked: string[] = [];
    beforeEach(async () => {
      await server.close();
      asked.length = 0;
      const authorize = async (token: string) => {
        asked.push(token);
        return token === 'good';
      };
      server = createAdmin({ registry, logger, ready: () => missing, authorize });
      server.get('/v1/things', () => ({ things: 3 }));
      server.post('/v1/reload', () => ({ reloaded: true }));
    });
    const status = async (url: string, token?: string, method: 'GET' | 'POST' = 'GET') => {
      const headers = token === undefined ? {} : { authorization: token };
      return (await server.inject({ method, url, headers })).statusCode;
    };

    it('lets in who has a token that is believed', async () => {
      expect(await status('/v1/things', 'Bearer good')).toBe(200);
      expect(await status('/v1/reload', 'bearer good', 'POST')).toBe(200);
    });

    it('keeps out everybody else, however the path is spelled', async () => {
      const spellings = ['/v1/things', '/v1/things?x', '/%761/things', '/v1/%74hings'];
      for (const url of spellings) {
        expect([401, 404], url).toContain(await status(url));
        expect([403, 404], url).toContain(await status(url, 'Bearer bad'));
      }
      expect(await status('/v1/reload', 'Bearer bad', 'POST')).toBe(403);
      expect(await status('/v1/things', 'Basic good')).toBe(401);
      expect(await status('/v1/things', 'Bearer ')).toBe(401);
    });

    it('leaves metrics and probes open, and asks nobody for them', async () => {
      for (const url of ['/metrics', '/healthz', '/readyz']) expect(await status(url)).toBe(200);
      expect(asked).toEqual([]);
    });
  });
});

/**
 * Clients that give up, a thousand and more of them: each ends an exchange between Envoy and the
 * picker by a reset. A server with a budget for resets would drop the whole connection, and every
 * request on it.
 */
import { ChatClient, Rig, requireEnvoy, requireNats } from '@leadsman/testing';
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitForCompleteView } from './view.ts';

const ready = [requireEnvoy(), requireNats()].every(Boolean);

/** More than the 1,000 that Node's HTTP/2 server allows at once by default. */
const cancelled = 1_100;
const atOnce = 110;

describe.skipIf(!ready)('clients that give up', () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start({
      nodes: 1,
      podsPerNode: 2,
      subnet: 22,
      engine: { parameters: { runningMax: 1_000 }, streamTokens: 50 },
      pickerFlags: { workers: 1 },
    });
    await waitForCompleteView(rig, rig.picker!.adminUrl);
  }, 120_000);

  afterAll(() => rig?.stop());

  it('neither end a long request on the same connection nor keep new ones out', async () => {
    const client = new ChatClient(rig.gatewayUrl);
    let ended = false;
    const long = client.send({ prompt: 'take your time', outputTokens: 20_000 }).then((result) => {
      ended = true;
      return result;
    });
    const pool = new Pool(rig.gatewayUrl, { connections: atOnce });
    for (let sent = 0; sent < cancelled; sent += atOnce) {
      await Promise.all(Array.from({ length: atOnce }, () => giveUp(pool)));
    }
    await pool.destroy();
    expect(ended).toBe(false);
    const next = await client.send({ prompt: 'and now?', outputTokens: 3 });
    expect(next.failure).toBeUndefined();
    rig.engines.engines.forEach((engine) => {
      engine.setSpeed(200);
    });
    expect((await long).failure).toBeUndefined();
    await client.close();
  });
});

/** Sends a request and breaks it off when the first bytes of the answer are there. */
async function giveUp(pool: Pool): Promise<void> {
  const response = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    body: JSON.stringify({
      messages: [{ role: 'user', content: 'never mind' }],
      max_tokens: 1_000,
      stream: true,
    }),
  });
  expect(response.statusCode).toBe(200);
  response.body.on('error', () => {});
  response.body.destroy();
}

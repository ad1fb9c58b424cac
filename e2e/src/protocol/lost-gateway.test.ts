/** A gateway that is gone without a word: its machine lost power, or a firewall forgot the way. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { waitUntil } from '@leadsman/testing';
import { expect, test } from 'vitest';
import { framedHeaders } from './messages.ts';
import { startPickerUnderTest } from './picker-under-test.ts';
import { rawCall, rawSession } from './raw-call.ts';

/** Passes bytes on to `port` until told to swallow them. */
async function startProxy(port: number) {
  const sockets: Socket[] = [];
  let isDead = false;
  const server = createServer((client) => {
    const onward = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, onward],
      [onward, client],
    ] as const) {
      sockets.push(from);
      from.on('error', () => {});
      from.on('data', (bytes: Buffer) => {
        if (!isDead) to.write(bytes);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    die() {
      isDead = true;
    },
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('its requests are given back when it answers no ping; others are not touched', async () => {
  const picker = await startPickerUnderTest((options) => {
    options.limits.pingIntervalMs = 500;
    options.limits.pingTimeoutMs = 1_000;
  });
  const proxy = await startProxy(picker.port);
  const sessions = [await rawSession(proxy.port), await rawSession(picker.port)];
  for (const session of sessions) {
    const call = await rawCall(0, session);
    call.write(framedHeaders(''));
    await once(call.stream, 'data');
  }
  expect(picker.scheduler.open.size).toBe(2);
  proxy.die();
  await waitUntil(() => picker.scheduler.open.size === 1, { what: 'the release' });
  expect(picker.counters.get('sessions_dead')).toBe(1);
  expect(picker.scheduler.released[0]!.outcome.aborted).toBe(true);
  expect(picker.server.openSessions).toBe(1);
  expect(sessions[1]!.destroyed).toBe(false);
  for (const session of sessions) session.destroy();
  proxy.stop();
  await picker.stop();
});

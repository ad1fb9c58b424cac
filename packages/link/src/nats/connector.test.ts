import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { Connector } from './connector.ts';
import { natsBoundsDefault } from './options.ts';

// Port 1 of the loopback address: nobody listens there.
const nobody = { servers: ['nats://127.0.0.1:1'], name: 'test' };

it('leaves nothing behind on the signal of its link, however often it fails', async () => {
  const connector = new Connector(nobody, natsBoundsDefault, Math.random, () => undefined);
  const stopping = new AbortController();
  for (let i = 0; i < 5; i++) await expect(connector.connect(stopping.signal)).rejects.toThrow();
  expect(getEventListeners(stopping.signal, 'abort')).toHaveLength(0);
});

it('gives up at once when the link was stopped meanwhile', async () => {
  const connector = new Connector(nobody, natsBoundsDefault, Math.random, () => undefined);
  const stopping = new AbortController();
  stopping.abort(new Error('stopped'));
  await expect(connector.connect(stopping.signal)).rejects.toThrow('stopped');
});

import { ConfigError, readConfig } from '@leadsman/service';
import { expect, test } from 'vitest';
import { collectorConfigShape } from './config.ts';

const read = (...argv: string[]) =>
  readConfig(collectorConfigShape, { argv, env: {}, name: 'collector' });

test('a certificate without its key is refused before anything listens', () => {
  expect(() => read('--grpc-tls-cert-file', '/tls/tls.crt')).toThrow(ConfigError);
  expect(() =>
    read('--grpc-tls-cert-file', '/tls/tls.crt', '--grpc-tls-key-file', '/tls/tls.key'),
  ).not.toThrow();
});

test('defaults fit the documented ports and limits', () => {
  expect(read()).toMatchObject({
    adminPort: 9420,
    grpcPort: 9421,
    endpointsMax: 16_384,
    staleAfterMs: 2_000,
    expireAfterMs: 10_000,
    endpointMetrics: false,
  });
});

import { gridOfNode } from '@leadsman/scrape';
import { ConfigError, readConfig } from '@leadsman/service';
import { describe, expect, it } from 'vitest';
import { agentUrlOf, paceOf, sidecarConfigShape, targetsOf } from './config.ts';

function read(...argv: string[]) {
  return readConfig(sidecarConfigShape, { argv, env: {}, name: 'test' });
}

describe('the configuration of a sidecar', () => {
  it('scrapes port 8000 of its own pod every 50 ms by default', () => {
    const config = read();
    expect(targetsOf(config)).toEqual([{ port: 8_000, url: 'http://127.0.0.1:8000/' }]);
    expect(config.scrapeIntervalMs).toBe(50);
    expect(config.scrapeShare).toBe(0.1);
    expect(config.exporterMode).toBe('auto');
  });

  it('has one target per serving port, at the same place or where it is told', () => {
    expect(
      targetsOf(read('--engine-ports', '8000,8001', '--engine-path=/m', '--engine-host', '::1')),
    ).toEqual([
      { port: 8_000, url: 'http://[::1]:8000/m' },
      { port: 8_001, url: 'http://[::1]:8001/m' },
    ]);
    expect(targetsOf(read('--targets', '15080=http://127.0.0.1:7080/metrics'))).toEqual([
      { port: 15_080, url: 'http://127.0.0.1:7080/metrics' },
    ]);
  });

  it('scrapes in step with its node, at its own interval', () => {
    const pace = paceOf(read('--node-name', 'gpu-1', '--scrape-interval-ms', '100'));
    expect(pace).toMatchObject({ intervalMs: 100, grid: gridOfNode('gpu-1', 100) });
    expect(pace.grid).not.toEqual(paceOf(read('--node-name', 'gpu-2')).grid);
    expect(paceOf(read()).grid).toBeUndefined();
  });

  it('finds the agent at the node, or where it is told', () => {
    expect(agentUrlOf(read())).toBe('');
    expect(agentUrlOf(read('--host-ip', '10.0.0.1'))).toBe('http://10.0.0.1:9410');
    expect(agentUrlOf(read('--host-ip', 'fd00::1', '--agent-port', '1'))).toBe(
      'http://[fd00::1]:1',
    );
    expect(agentUrlOf(read('--agent-url', 'http://a:2'))).toBe('http://a:2');
  });

  it.each([
    [['--engine-ports', '0']],
    [['--engine-ports', '8000,8000']],
    [['--targets', '8000=ftp://host']],
    [['--targets', '1=http://a/,1=http://b/']],
    [['--targets', '70000=http://a/']],
    [['--targets', '8000=http://a:70000/']],
    [['--pod-ip', 'engine-0.local']],
    [['--pod-ip', 'fe80::1%eth0']],
    [['--exporter-mode', 'node']],
    [['--nats-url', 'nats://a', '--collector-url', 'grpc://b:1']],
    [['--scrape-interval-ms', '2000']],
    [['--scrape-share', '0']],
  ])('refuses %j', (argv) => {
    expect(() => read(...argv)).toThrow(ConfigError);
  });
});

/**
 * docs/metrics.md names every metric that the code registers, with its type and labels, and no
 * other; dashboards and alert rules ask only for such ones.
 *
 * Metrics are noted where they all pass, at `Registry.registerMetric`, while every registering
 * function runs. Most read their sources only when scraped, so an empty object will do for one; the
 * two processes that register inside their start are started on ports of the system's choice. Two
 * checks see that no registration is left out: each place in the sources that makes metrics must
 * have done so here, and each metric name in a source must be one that was noted.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerCollectorMetrics } from '../packages/collector/src/core/metrics.ts';
import { collectorConfigShape } from '../packages/collector/src/service/config.ts';
import { startCollector } from '../packages/collector/src/service/start-collector.ts';
import { injectorConfigShape } from '../packages/injector/src/config.ts';
import { startInjector } from '../packages/injector/src/start.ts';
import { KubeClient } from '../packages/kube/src/client.ts';
import { registerPushMetrics } from '../packages/link/src/grpc/metrics.ts';
import { registerNatsMetrics } from '../packages/link/src/nats/metrics.ts';
import { registerDiscoveryMetrics } from '../packages/node-agent/src/discover/discovery.ts';
import { registerBatchMetrics, registerStreamMetrics } from '../packages/node-agent/src/metrics.ts';
import { registerPickerMetrics } from '../packages/picker/src/admin/metrics.ts';
import { registerMembershipMetrics } from '../packages/picker/src/pool/kubernetes/membership-metrics.ts';
import { registerSchedulingMetrics } from '../packages/scheduling/src/hub/scheduling-metrics.ts';
import { createLogger } from '../packages/service/src/log.ts';
import { registerSidecarMetrics } from '../packages/sidecar/src/metrics.ts';

interface Metric {
  name: string;
  labelNames: readonly string[];
}

interface RegistryLike {
  metrics(): Promise<string>;
  registerMetric(metric: Metric): void;
}

/** The page's word for a metric: type and labels in the order of the code. */
type Shapes = Map<string, string>;

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string) => readFileSync(`${root}/${file}`, 'utf8');
/** The copy of the library that the packages use. */
const { Registry } = createRequire(`${root}/packages/service/package.json`)('prom-client') as {
  Registry: { new (): RegistryLike; prototype: RegistryLike };
};

const registered: Shapes = new Map();
/** The places that made them, as `line:column` by source. */
const makers = new Map<string, Set<string>>();
const { registerMetric } = Registry.prototype;

/** A source that is read only when somebody scrapes, which nobody does here. */
function unread<T>(parts: object = {}): T {
  return parts as T;
}

async function registerAll(): Promise<void> {
  const registry = unread<Parameters<typeof registerBatchMetrics>[0]>(new Registry());
  const logger = createLogger({ name: 'metrics-doc', level: 'silent' });
  const local = { adminHost: '127.0.0.1', adminPort: 0 };
  registerSidecarMetrics(registry, unread());
  registerNatsMetrics(registry, 'sidecar', unread());
  registerPushMetrics(registry, 'sidecar', unread());
  registerBatchMetrics(registry, unread());
  registerStreamMetrics(registry, unread());
  registerDiscoveryMetrics(registry, unread(), unread());
  registerNatsMetrics(registry, 'node_agent', unread());
  registerPushMetrics(registry, 'node_agent', unread());
  registerCollectorMetrics(registry, () => undefined);
  registerPickerMetrics(registry, unread());
  registerMembershipMetrics(registry, unread());
  registerSchedulingMetrics(registry, unread({ exchange: {} }), () => 0);
  registerNatsMetrics(registry, 'picker', unread());
  const collector = await startCollector(
    collectorConfigShape.parse({
      ...local,
      grpcHost: '127.0.0.1',
      grpcPort: 0,
      endpointMetrics: true,
    }),
    logger,
  );
  await collector.stop();
  const injector = await startInjector(
    injectorConfigShape.parse({
      ...local,
      sidecarFile: 'unread',
      tlsCertFile: '/nonexistent/tls.crt',
      tlsKeyFile: '/nonexistent/tls.key',
    }),
    {
      // Nobody answers on the discard port, which the injector must put up with anyway.
      client: new KubeClient(
        unread({
          server: new URL('http://127.0.0.1:9'),
          authenticate: async () => ({}),
          close: () => {},
        }),
      ),
      template: unread(),
      logger,
      registry: unread(new Registry()),
      random: () => 0.5,
      nowMs: () => 0,
      delay: async () => {},
    },
  );
  await injector.stop();
}

beforeAll(async () => {
  Registry.prototype.registerMetric = function (metric: Metric) {
    if (metric.name.startsWith('leadsman_')) {
      registered.set(metric.name, shapeOf(metric));
      noteMaker();
    }
    return registerMetric.call(this, metric);
  };
  await registerAll();
});

afterAll(() => {
  Registry.prototype.registerMetric = registerMetric;
});

/** Called within the constructor of a metric: notes which source called that. */
function noteMaker(): void {
  const [, file = '', place = ''] =
    /(packages\/[a-z-]+\/src\/[^:?]+\.ts)[^:]*:(\d+:\d+)/.exec(new Error().stack ?? '') ?? [];
  const places = makers.get(file) ?? new Set();
  makers.set(file, places.add(place));
}

function shapeOf(metric: Metric): string {
  return shapeText(metric.constructor.name.toLowerCase(), metric.labelNames);
}

function shapeText(type: string, labelNames: readonly string[]): string {
  return labelNames.length === 0 ? type : `${type} by ${labelNames.join(', ')}`;
}

/**
 * Rows of the page's tables whose first cell is a metric: name, type, labels, and two texts.
 * `PROCESS` stands for each of the processes that have such a connection.
 */
function documented(): Shapes {
  const found: Shapes = new Map();
  for (const [, name = '', type = '', labels = ''] of read('docs/metrics.md').matchAll(
    /^\| `(leadsman_[a-z0-9_]+|leadsman_PROCESS_\w+)` \| (\w+) \| ([^|]*) \| [^|]+ \| [^|]+ \|/gm,
  )) {
    const labelNames = [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label);
    for (const process of processesOf(name)) {
      const one = name.replace('PROCESS', process);
      expect(found.has(one), `${one} has one row`).toBe(false);
      found.set(one, shapeText(type, labelNames));
    }
  }
  return found;
}

function processesOf(name: string): string[] {
  if (!name.includes('PROCESS')) return [''];
  const senders = ['sidecar', 'node_agent'];
  return name.includes('_nats_') ? [...senders, 'picker'] : senders;
}

const listed = (shapes: Shapes) => [...shapes].map(([name, shape]) => `${name}: ${shape}`).sort();

function namesIn(text: string): string[] {
  return [...text.matchAll(/leadsman_[a-z0-9_]+/g)].map(([name]) => name);
}

function sources(): string[] {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'packages'], {
    cwd: root,
    encoding: 'utf8',
  });
  return files
    .split('\n')
    .filter((file) => /^packages\/(?!testing\/)[^/]+\/src\/.*\.ts$/.test(file))
    .filter((file) => !/\.test\.ts$/.test(file));
}

describe('docs/metrics.md', () => {
  it('has a row for every metric, with its type and labels, and no other', () => {
    expect(registered.size).toBeGreaterThan(100);
    expect(listed(documented())).toEqual(listed(registered));
  });

  it('speaks of no metric that does not exist', () => {
    const names = new Set(documented().keys());
    const strange = namesIn(read('docs/metrics.md')).filter((name) => !isKnown(name, names));
    expect(strange).toEqual([]);
  });
});

/** A whole name, or the beginning of some, as in `leadsman_picker_nats_…`. */
function isKnown(name: string, names: ReadonlySet<string>): boolean {
  return names.has(name) || (name.endsWith('_') && [...names].some((one) => one.startsWith(name)));
}

describe('the registrations noted by this test', () => {
  it('come from every place that makes metrics', () => {
    const places: Record<string, number> = {};
    for (const file of sources()) {
      const text = read(file);
      if (!/from 'prom-client'/.test(text)) continue;
      const count = text.match(/new (Counter|Gauge|Histogram|Summary)\b(<[^(]*>)?\(/g)?.length ?? 0;
      if (count > 0) places[file] = count;
    }
    const noted = [...makers].map(([file, found]) => [file, found.size]);
    expect(Object.fromEntries(noted)).toEqual(places);
  });

  it('include every name that a source spells out', () => {
    const names = new Set(registered.keys());
    // The prefix of gRPC details of refusals, which are no metrics.
    const others = new Set(['leadsman_']);
    const strange = sources().flatMap((file) =>
      namesIn(read(file))
        .filter((name) => !isKnown(name, names) && !others.has(name))
        .map((name) => `${file}: ${name}`),
    );
    expect(strange).toEqual([]);
  });
});

describe('the names', () => {
  it('are in base units, and end in _total exactly where they count', () => {
    const strange = [...registered]
      .filter(
        ([name, shape]) =>
          /_(ms|millis|milliseconds|us|micros|kb|kib|mb|mib|percent|sum|count)$/.test(
            name.replace(/_total$/, ''),
          ) || name.endsWith('_total') !== shape.startsWith('counter'),
      )
      .map(([name, shape]) => `${name}: ${shape}`);
    expect(strange).toEqual([]);
  });
});

describe('the chart', () => {
  const charted = ['dashboards/leadsman.json', 'alerts/leadsman.yaml'];

  it.each(charted)('%s asks only for metrics and labels that exist', (file) => {
    const text = read(`deploy/helm/leadsman/${file}`);
    const names = [...new Set(namesIn(text))];
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !registered.has(name))).toEqual([]);
    for (const [, labels = '', name = ''] of text.matchAll(
      /by \(([^)]*)\) \((?:rate|increase|max_over_time|min_over_time)?\(?(leadsman_[a-z0-9_]+)/g,
    )) {
      const own = [...(registered.get(name) ?? '').matchAll(/[a-z]\w*/g)].map(([label]) => label);
      for (const label of labels.split(/, */)) {
        expect([...own, 'instance', 'pod', 'namespace', 'job'], `${name} in ${file}`).toContain(
          label,
        );
      }
    }
  });
});

describe('the other pages', () => {
  it('name no metric that does not exist', () => {
    const names = new Set(registered.keys());
    const pages = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
      cwd: root,
      encoding: 'utf8',
    });
    // The changelog speaks of names that are no more.
    const others = new Set(['', 'docs/metrics.md', 'CHANGELOG.md']);
    const strange = pages
      .split('\n')
      .filter((file) => !others.has(file))
      .flatMap((file) =>
        namesIn(read(file))
          .filter((name) => !isKnown(name, names))
          .map((name) => `${file}: ${name}`),
      );
    expect(strange).toEqual([]);
  });
});

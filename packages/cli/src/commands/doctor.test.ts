/** Faults planted in processes that only pretend; those that real ones show are in doctor-real.test.ts. */
import { readFile } from 'node:fs/promises';
import { startEngineSimulator } from '@leadsman/testing';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { type FakeProcess, startFakeProcess } from '../ask/process.fixture.ts';
import { type FaultName, faults } from '../doctor/finding.ts';
import {
  endpoint,
  gatewayPages,
  healthyAgent,
  healthyNats,
  healthyPicker,
  healthySidecar,
  type Pages,
  withJson,
  withMetric,
  withRising,
} from '../doctor/healthy.fixture.ts';
import { doctorCommand } from './doctor.ts';

const started: FakeProcess[] = [];
afterEach(async () => {
  for (const fake of started.splice(0)) await fake.close();
});

async function fake(pages: Pages, version = '0.1.0'): Promise<string> {
  const process = await startFakeProcess(pages, version);
  started.push(process);
  return process.url;
}

async function doctor(...args: string[]) {
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
  await doctorCommand(io).parseAsync(['--interval-ms', '1', ...args], { from: 'user' });
  return seen;
}

/** The names of what is found. */
async function found(...args: string[]): Promise<string[]> {
  const { out } = await doctor('--json', ...args);
  return JSON.parse(out).findings.map(({ name }: { name: string }) => name);
}

const pools = (pool: object) =>
  withJson(healthyPicker(), '/v1/pools', {
    pools: [{ pool: 'ns/chat', endpoints: 4, reasons: [], ...pool }],
  });
const endpoints = (...list: object[]) =>
  withJson(healthyPicker(), '/v1/endpoints', { endpoints: list });
const notReady = (pages: Pages, line: string): Pages => ({
  ...pages,
  '/readyz': () => ({ status: 503, body: `${line}\n` }),
});
const exporter = (says: object, target: object = {}): Pages => ({
  ...healthySidecar(),
  '/snapshot': {
    exporter: { mode: 'auto', path: 'agent', agentOutcome: 'accepted', ...says },
    targets: [
      {
        podName: 'engine-1',
        address: '10.0.0.1',
        port: 8000,
        state: 'fresh',
        reason: 'ok',
        detail: '',
        ...target,
      },
    ],
  },
});
const lost = (pages: Pages = healthyPicker()) =>
  withMetric(pages, 'leadsman_collector_feed_synced', 0);
const away = (counter: string) =>
  withMetric(
    withMetric(lost(), 'leadsman_collector_nats_connected', 0),
    `leadsman_collector_nats_${counter}`,
    3,
  );
const rising = (series: string) => withRising(healthyPicker(), series);
const gateway = (stats: Record<string, number>, after: Record<string, number>): Pages => {
  let looks = 0;
  const first = gatewayPages({ stats })['/stats'] as object;
  const then = gatewayPages({ stats: after })['/stats'] as object;
  return { ...gatewayPages(), '/stats': () => ({ body: looks++ === 0 ? first : then }) };
};
const slowConsumer = (): Pages => {
  let slow = 2;
  return {
    ...healthyNats(),
    '/varz': () => ({ body: { server_id: 'N', slow_consumers: slow++ } }),
  };
};
const enginePage = (answer: { status?: number; body?: string }): Pages => ({
  '/metrics': () => answer,
});

/** One process with one fault each. */
const planted: [FaultName, Pages, ...string[]][] = [
  ['not_recognised', { '/metrics': 'hello' }],
  ['wants_token', { ...healthyPicker(), '/v1/pools': () => ({ status: 401 }) }],
  ['picker_not_ready', notReady(healthyPicker(), 'ext_proc workers are starting')],
  [
    'picker_serves_no_pool',
    withJson(healthyPicker(), '/v1/pools', {
      pools: [],
      membership: { foreign: { 'ns/other': 'another Service' } },
    }),
  ],
  ['pool_without_members', pools({ endpoints: 0, reasons: ['2 of 2: not ready'] })],
  [
    'pool_saturated',
    withMetric(healthyPicker(), 'leadsman_picker_pool_saturated{pool="ns/chat"}', 1),
  ],
  ['ports_never_answered', pools({ neverAnswered: { count: 7, destinations: ['10.0.0.1:8001'] } })],
  [
    'thresholds_contradict',
    withMetric(healthyPicker(), 'leadsman_picker_pool_slow_reports{pool="ns/chat"}', 4),
  ],
  [
    'membership_unwatched',
    withJson(healthyPicker(), '/v1/pools', {
      membership: {
        watches: [{ resource: 'pods', namespace: 'ns', reason: 'rbac', message: 'forbidden' }],
      },
    }),
  ],
  ['nats_credentials_refused', away('auth_errors_total')],
  ['nats_away', away('connect_errors_total')],
  ['nats_not_permitted', withMetric(lost(), 'leadsman_collector_nats_permission_errors_total', 1)],
  ['collector_not_synced', notReady(lost(), 'the fleet view has not been complete yet')],
  ['view_full', rising('leadsman_collector_reports_total{result="full"}')],
  ['workers_restart', rising('leadsman_picker_worker_restarts_total')],
  ['gateway_speaks_no_tls', rising('leadsman_picker_tls_failures_total')],
  ['gateway_ignores_picks', rising('leadsman_picker_served_elsewhere_total')],
  ['sidecar_silent', endpoints(endpoint(1, { state: 'stale', ageMs: 9_000 }), endpoint(2))],
  [
    'node_silent',
    endpoints(endpoint(1, { state: 'stale' }), endpoint(2, { state: 'stale' }), endpoint(3)),
  ],
  ['never_reported', endpoints(endpoint(1, { state: 'unknown', reason: undefined, ageMs: null }))],
  ['engine_dead', endpoints(endpoint(1, { state: 'stale', reason: 'timeout' }))],
  ['engine_hangs', endpoints(endpoint(1, { state: 'suspect' }))],
  ['engine_wants_token', endpoints(endpoint(1, { state: 'unknown', reason: 'unauthorized' }))],
  ['engine_without_series', endpoints(endpoint(1, { state: 'unknown', reason: 'no_series' }))],
  ['engine_page_unusable', endpoints(endpoint(1, { state: 'stale', reason: 'content_type' }))],
  ['agent_without_way', notReady(healthyAgent(), 'no way onward for reports')],
  [
    'agent_refuses_reports',
    withRising(healthyAgent(), 'leadsman_node_agent_refused_frames_total{reason="wrong_peer"}'),
  ],
  ['agent_refuses_reports', exporter({ agentOutcome: 'peer' })],
  ['agent_absent', exporter({ mode: 'node', path: 'none', agentOutcome: 'unreachable' })],
  ['sidecar_unheard', exporter({ path: 'none', agentOutcome: 'unreachable' })],
  ['engine_wants_token', exporter({}, { state: 'unknown', reason: 'unauthorized' })],
  [
    'nats_unhealthy',
    { ...healthyNats(), '/healthz': () => ({ status: 503, body: 'unavailable' }) },
  ],
  ['nats_slow_consumer', slowConsumer()],
  ['gateway_not_live', withJson(gatewayPages(), '/server_info', { state: 'PRE_INITIALIZING' })],
  ['gateway_without_ext_proc', gatewayPages({ filters: 0 })],
  ['gateway_without_picker', gatewayPages({ stats: { 'cluster.picker.membership_healthy': 0 } })],
  [
    'gateway_drops_picks',
    gatewayPages({ stats: { 'cluster.picker.circuit_breakers.default.rq_open': 1 } }),
  ],
  [
    'ext_proc_fails',
    gateway(
      { 'http.g.ext_proc.p.message_timeouts': 3 },
      { 'http.g.ext_proc.p.message_timeouts': 5 },
    ),
  ],
  ['response_body_none', gatewayPages({ mode: { response_body_mode: 'NONE' } })],
  ['request_body_none', gatewayPages({ mode: { request_body_mode: undefined } })],
  ['engine_wants_token', enginePage({ status: 401 }), '--engine'],
  ['engine_wants_token', enginePage({ status: 403 })],
  ['engine_page_unusable', enginePage({ status: 500 }), '--engine'],
  [
    'engine_without_series',
    enginePage({ body: '# TYPE a gauge\nmy_engine_things 3\n' }),
    '--engine',
  ],
];

const seen = new Set<string>();

it.each(planted)('finds %s, and nothing else', async (name, pages, ...flags) => {
  expect(await found(...flags, await fake(pages))).toEqual([name]);
  seen.add(name);
});

let engineUrl = '';
beforeAll(async () => {
  const engine = await startEngineSimulator();
  engineUrl = engine.url;
  return () => engine.stop();
});

it('is silent where nothing is wrong, whatever went wrong before', async () => {
  const urls = [healthyPicker(), healthyAgent(), healthySidecar(), healthyNats(), gatewayPages()];
  const addresses = await Promise.all(urls.map((pages) => fake(pages)));
  expect(await doctor(...addresses, '--engine', `${engineUrl}/metrics`)).toEqual({
    out: '',
    err: '',
    code: 0,
  });
  // What each is was found out by asking.
  const { asked } = JSON.parse((await doctor('--json', ...addresses, engineUrl)).out);
  expect(asked.map(({ kind }: { kind: string }) => kind)).toEqual([
    'picker',
    'agent',
    'sidecar',
    'nats',
    'gateway',
    'engine',
  ]);
});

it('finds not_reachable: what does not answer, by its part where it was named', async () => {
  const { out, code } = await doctor('127.0.0.1:1', '--agent', '127.0.0.1:1');
  expect(code).toBe(1);
  expect(out).toContain('not_reachable: http://127.0.0.1:1\n');
  expect(out).toContain('not_reachable: agent http://127.0.0.1:1\n  seen: nobody listens there');
  seen.add('not_reachable');
});

it('finds version_skew', async () => {
  const [old, young] = [await fake(healthyAgent(), '0.1.0'), await fake(healthyPicker(), '0.2.0')];
  expect(await found(old, young)).toEqual(['version_skew']);
  seen.add('version_skew');
});

it('finds replicas_apart', async () => {
  const urls = [await fake(healthyPicker()), await fake(healthyPicker())];
  expect(await found(...urls)).toEqual(['replicas_apart', 'replicas_apart']);
  seen.add('replicas_apart');
});

it('has a planted fault for each name it knows', () => {
  expect([...seen].sort()).toEqual(Object.keys(faults).sort());
});

it('is described by the name of each fault in docs/cli.md', async () => {
  const text = await readFile(new URL('../../../../docs/cli.md', import.meta.url), 'utf8');
  const listed = [...text.slice(text.indexOf('## doctor')).matchAll(/^\| `(\w+)` \|/gm)];
  expect(listed.map(([, name]) => name)).toEqual(Object.keys(faults));
});

it('does not take for a fault what is over at the second look', async () => {
  let looks = 0;
  const old = [endpoint(1, { state: 'stale' })];
  const page = () => ({ body: { endpoints: looks++ === 0 ? old : [endpoint(1)] } });
  expect(await found(await fake({ ...healthyPicker(), '/v1/endpoints': page }))).toEqual([]);
});

it('names the one cause, not each endpoint, when the whole feed is lost', async () => {
  const stale = [1, 2, 3].map((number) => endpoint(number, { state: 'stale', ageMs: 60_000 }));
  const pages = withJson(away('connect_errors_total'), '/v1/endpoints', { endpoints: stale });
  expect(await found(await fake(pages))).toEqual(['nats_away']);
});

it('tells a fault that two replicas see once, with what shows it and what to do', async () => {
  const pages = () =>
    withMetric(
      endpoints(endpoint(1, { state: 'stale', reason: 'unauthorized', ageMs: 9_000 })),
      'leadsman_picker_replicas',
      1,
    );
  const { out } = await doctor(await fake(pages()), await fake(pages()));
  expect(out).toBe(
    'engine_wants_token: pod engine-1 (10.0.0.1:8000)\n' +
      '  seen: stale, numbers 9.0 s old, latest scrape: unauthorized\n' +
      "  do:   give the sidecar the engine's token: annotation or --token-file\n",
  );
});

it('asks for at least one address', async () => {
  expect(await doctor()).toMatchObject({ code: 2, out: '' });
});

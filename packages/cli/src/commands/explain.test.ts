import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEngineSimulator } from '@leadsman/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { explainCommand } from './explain.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function run(...argv: string[]) {
  const result = { out: '', err: '', code: 0 };
  const command = explainCommand({
    write: (text) => {
      result.out += text;
    },
    warn: (text) => {
      result.err += text;
    },
    setExitCode: (code) => {
      result.code = code;
    },
    nowMs: () => performance.now(),
  });
  await command.parseAsync(argv, { from: 'user' });
  return result;
}

async function file(text: string, name = 'page.txt'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-'));
  cleanUps.push(() => rm(folder, { recursive: true }));
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function serve(status: number, type: string, body: string): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => server.closeAllConnections());
  cleanUps.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
}

const page = [
  'vllm:num_requests_running{engine="0",model_name="m"} 3',
  'vllm:num_requests_running{engine="1",model_name="m"} 1',
  '# TYPE vllm:num_requests_waiting gauge',
  'vllm:kv_cache_usage_perc{engine="0",model_name="m"} NaN',
  'vllm:lora_requests_info{max_lora="2",running_lora_adapters="a",waiting_lora_adapters=""} 7',
  'vllm:num_requests_swapped 0',
  'vllm:num_requests_swapped{ 1',
  '',
].join('\n');

describe('leadsman explain', () => {
  it('shows values, ranks, families found and missing, and why a number is unknown', async () => {
    const { out, code } = await run(await file(page));
    expect(code).toBe(0);
    expect(out).toMatch(/^engine +vLLM \(vllm, found by its series\)$/m);
    expect(out).toMatch(/^faults +1 unusable numbers, 1 malformed lines, 0 samples/m);
    expect(out).toMatch(/^models +m$/m);
    expect(out).toMatch(/^LoRA +running a; waiting none$/m);
    expect(out).toMatch(/^runningRequests +4 +vllm:num_requests_running$/m);
    expect(out).toMatch(/^waitingRequests +unknown +.*has HELP or TYPE, but no such sample/m);
    expect(out).toMatch(/^kvCacheUsageRatio +unknown +vllm:kv_cache_usage_perc has no .*: NaN/m);
    expect(out).toMatch(
      /^preemptionsTotal +unknown +no such series \(vllm:num_preemptions_total\)/m,
    );
    expect(out).toMatch(
      /^swappedRequests +unknown +vllm:num_requests_swapped: a line is malformed/m,
    );
    expect(out).toMatch(/^1 +1 +unknown +unknown$/m);
    expect(out).toMatch(/^ {2}vllm:num_requests_running \(2\)$/m);
    expect(out).toMatch(/^ {2}vllm:num_preemptions_total$/m);
  });

  it('names the family that is missing of two that make one number', async () => {
    const { out } = await run(
      await file(
        [
          '# TYPE tgi_batch_current_max_tokens gauge',
          'tgi_batch_current_max_tokens 40',
          'tgi_queue_size 2',
          '',
        ].join('\n'),
      ),
    );
    expect(out).toMatch(
      /^kvCacheUsageRatio +unknown +no series of tgi_batch_max_total_tokens \(tgi_batch_current/m,
    );
    const over = await file('tgi_batch_current_max_tokens 9\ntgi_batch_max_total_tokens 3\n');
    expect((await run(over)).out).toMatch(/^kvCacheUsageRatio +unknown +no possible number/m);
  });

  it('prints one JSON object, in which unknown is null', async () => {
    const { out } = await run('--json', await file(page));
    const json = JSON.parse(out);
    expect(json).toMatchObject({
      engine: 'vllm',
      outcome: 'ok',
      engineRanks: 2,
      malformedLines: 1,
    });
    const numbers = Object.fromEntries(
      json.numbers.map((one: { metric: string; value: number | null }) => [one.metric, one.value]),
    );
    expect(numbers).toMatchObject({ runningRequests: 4, kvCacheUsageRatio: null });
    expect(json.ranks[1]).toMatchObject({ rank: 1, runningRequests: 1, waitingRequests: null });
  });

  it('reads the page of a running engine', async () => {
    const engine = await startEngineSimulator({ ranks: 2, modelName: 'house/model' });
    cleanUps.push(() => engine.stop());
    const { out, code } = await run(`${engine.url}/metrics`);
    expect(code).toBe(0);
    expect(out).toMatch(/^models +house\/model$/m);
    expect(out).toMatch(/^ranks +2$/m);
    expect(out).toMatch(/^runningRequests +0 /m);
  });

  it('says which version the engine is, or why that is unknown', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/metrics') response.end('vllm:num_requests_running 1\n');
      else if (request.url !== '/version') response.writeHead(404).end();
      else {
        const body = JSON.stringify({ version: '0.11.0' });
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => server.closeAllConnections());
    cleanUps.push(() => server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { out, code } = await run(`${origin}/metrics`);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^version +0\\.11\\.0 \\(${origin}/version\\)$`, 'm'));
    const json = JSON.parse((await run('--json', `${origin}/metrics`)).out);
    expect(json).toMatchObject({
      engineVersion: '0.11.0',
      engineVersionDetail: `${origin}/version`,
    });
    const none = await run(await serve(200, 'text/plain', 'tgi_queue_size 1\n'));
    expect(none.out).toMatch(/^version +unknown: http:.*\/info: the page is text\/plain$/m);
    const silent = await run(await serve(200, 'text/plain', 'lmdeploy:num_requests_running 1\n'));
    expect(silent.out).toMatch(/^version +unknown: the engine has no version page that is known$/m);
    const fromFile = await run('--json', await file(page));
    expect(JSON.parse(fromFile.out).engineVersion).toBeNull();
    expect((await run(await file(page))).out).not.toMatch(/^version/m);
  });

  it('says which way a sidecar would use, and what that saves', async () => {
    const engine = await startEngineSimulator({ ranks: 2 });
    cleanUps.push(() => engine.stop());
    const { out, code } = await run(`${engine.url}/metrics`);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^scrapes +by name: \d+ bytes in [\d.]+ ms, instead of \d+ bytes in .* \(saved: 9\d % of the bytes, \d+ % of the time\)$/m,
    );
    const { scrapes } = JSON.parse((await run('--json', `${engine.url}/metrics`)).out);
    expect(scrapes).toMatchObject({ way: 'by_name', whyNotByName: null });
    expect(scrapes.wholeBytes).toBe(engine.page().length);
    expect(scrapes.byNameBytes).toBeLessThan(scrapes.wholeBytes / 8);
    expect(scrapes.byNameMs).toBeGreaterThan(0);
    engine.faults.selection = 'empty';
    const none = await run(`${engine.url}/metrics`);
    expect(none.out).toMatch(/^scrapes +of the whole page \(\d+ bytes in .*\); asked by name: /m);
    expect(none.code).toBe(0);
    const json = JSON.parse((await run('--json', `${engine.url}/metrics`)).out);
    expect(json.scrapes).toMatchObject({ way: 'whole', byNameBytes: null, byNameMs: null });
    const fromFile = await run('--json', await file(page));
    expect(JSON.parse(fromFile.out).scrapes).toBeNull();
  });

  it('says why a page gives no numbers, and fails', async () => {
    const unknown = await run(await file('python_info 1\n'));
    expect(unknown.code).toBe(1);
    expect(unknown.out).toMatch(/no_series: no series of any known engine \(vllm, sglang/);
    const html = await run(await file('<html>'));
    expect(html.out).toMatch(/parse: the page is no exposition text/);
    expect(html.code).toBe(1);
    const told = await run('--engine', 'tgi', await file(page));
    expect(told.out).toMatch(/no_series: no series of Text Generation Inference/);
  });

  it('says which engines a page comes close to, and how to name the engine', async () => {
    const generic = await file('prompt_tokens_total 5\ngeneration_tokens_total 7\nup 1\n');
    const { out, code } = await run(generic);
    expect(code).toBe(1);
    expect(out).toMatch(/^engine +unknown$/m);
    expect(out).toMatch(/^outcome +no_series: no series that only one known engine has/m);
    expect(out).toMatch(/^trtllm-serve +2 +prompt_tokens_total, generation_tokens_total$/m);
    expect(out).toMatch(/^vllm +0 +prompt_tokens_total, generation_tokens_total$/m);
    expect(out).toMatch(/--engine NAME.*LEADSMAN_ENGINE/);
    const { near } = JSON.parse((await run('--json', generic)).out);
    expect(near[0]).toMatchObject({ engine: 'trtllm-serve', readable: 2 });
    const named = await run('--engine', 'trtllm-serve', generic);
    expect(named.code).toBe(0);
    expect(named.out).toMatch(/^promptTokensTotal +5 /m);
    expect(named.out).not.toMatch(/COMES CLOSE/);
  });

  it('says why a page cannot be fetched', async () => {
    const refused = await run(await serve(403, 'text/plain', 'no'));
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/^unauthorized: http:\/\/127\.0\.0\.1:\d+\/metrics: status 403/);
    const json = await run('--json', await serve(200, 'application/json', '[]'));
    expect(JSON.parse(json.out)).toMatchObject({ outcome: 'content_type' });
  });

  it('takes a custom mapping', async () => {
    const mapping = await file('engine: house\nmetrics: { runningRequests: jobs }\n', 'map.yaml');
    const { out } = await run('--mapping', mapping, await file('jobs 6\n'));
    expect(out).toMatch(/^engine +house \(house, as told\)$/m);
    expect(out).toMatch(/^runningRequests +6 +jobs$/m);
  });

  it('refuses an unknown engine and a file that is not there', async () => {
    const engine = await run('--engine', 'nonsense', await file(page));
    expect(engine).toMatchObject({ code: 2, out: '' });
    expect(engine.err).toMatch(/unknown engine "nonsense"; there are: vllm,/);
    expect((await run('/nonexistent/page')).code).toBe(2);
  });
});

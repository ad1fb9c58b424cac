/**
 * `leadsman explain URL|FILE`: shows how a metrics page is read, by the very code that reads it in
 * a sidecar. For a person before an engine that "has no metrics", and for scripts (`--json`).
 */
import { readFile } from 'node:fs/promises';
import {
  type FetchSettings,
  isPage,
  type NearEngine,
  PageFetcher,
  PageReader,
  type VersionOutcome,
  type VersionPage,
  VersionReader,
} from '@leadsman/scrape';
import { readCustomMapping } from '@leadsman/scrape/custom';
import { reasonName } from '@leadsman/wire';
import { Command } from 'commander';
import { positive } from '../ask/option-values.ts';
import { type CommandIo, exitCode } from '../io/command-io.ts';
import { explanationJson, explanationText, type Found } from './explain-text.ts';
import { measureWays, type Ways } from './explain-ways.ts';

export interface ExplainIo extends CommandIo {
  nowMs(): number;
}

interface ExplainOptions {
  engine: string;
  mapping?: string;
  json?: true;
  tokenFile: string;
  timeoutMs: number;
  bytesMax: number;
  insecure?: true;
}

/** Builds the command. A page that cannot be read is an answer, not a fault. */
export function explainCommand(io: ExplainIo): Command {
  return new Command('explain')
    .description("show how an engine's metrics page is read: a URL, a file, or - for stdin")
    .argument('<page>', 'http(s) URL, path of a file, or -')
    .option('--engine <name>', 'read it as a page of this engine instead of finding out', 'auto')
    .option('--mapping <file>', 'custom mapping (YAML)')
    .option('--json', 'one JSON object instead of text')
    .option('--token-file <file>', 'file with a bearer token', '')
    .option('--timeout-ms <ms>', 'deadline of the fetch', positive, 5_000)
    .option('--bytes-max <bytes>', 'largest page', positive, 64 * 1_048_576)
    .option('--insecure', 'accept any certificate')
    .action(async (page: string, options: ExplainOptions) => {
      const explanation = await explain(page, options, io);
      if (explanation === undefined) return;
      const text = options.json ? explanationJson(explanation) : explanationText(explanation);
      io.write(text);
      if (explanation.outcome !== 'ok') io.setExitCode(exitCode.bad);
    });
}

async function explain(
  page: string,
  options: ExplainOptions,
  io: ExplainIo,
): Promise<Found | undefined> {
  const custom = options.mapping === undefined ? [] : [readCustomMapping(options.mapping)];
  const reader = new PageReader(custom);
  if (options.engine !== 'auto' && reader.profile(options.engine) === undefined) {
    io.warn(`unknown engine "${options.engine}"; there are: ${reader.engineNames.join(', ')}\n`);
    io.setExitCode(exitCode.usage);
    return undefined;
  }
  const bytes = await load(page, options, io);
  if (bytes === undefined) return undefined;
  const wanted = options.engine === 'auto' ? custom[0]?.name : options.engine;
  const engine = wanted ?? reader.detect(bytes);
  const explanation = reader.explain(bytes, engine ?? 'vllm');
  if (engine !== undefined) {
    const pages = reader.profile(engine)?.versionPages ?? [];
    // As a sidecar does: only after a good page.
    const ask = isUrl(page) && explanation.outcome === 'ok';
    const version = ask ? await readVersion(page, options, io, pages) : undefined;
    const ways = ask ? await findWays(page, options, io, { reader, engine }) : undefined;
    return { ...explanation, version, ways, found: wanted === undefined };
  }
  const isPage = explanation.outcome === 'no_series';
  const near = isPage ? reader.near(bytes) : [];
  const detail = isPage ? whyUnknown(near, reader.engineNames) : explanation.detail;
  const unknown = { engine: 'unknown', title: 'unknown', version: undefined, found: false };
  const ways = undefined;
  return { ...explanation, ...unknown, ways, detail, near };
}

function readVersion(
  url: string,
  options: ExplainOptions,
  io: ExplainIo,
  pages: readonly VersionPage[],
): Promise<VersionOutcome> {
  return new VersionReader(settingsOf(url, options), io.nowMs).read(pages);
}

function findWays(
  url: string,
  options: ExplainOptions,
  io: ExplainIo,
  as: { reader: PageReader; engine: string },
): Promise<Ways> {
  return measureWays(settingsOf(url, options), { ...as, nowMs: io.nowMs });
}

function whyUnknown(near: readonly NearEngine[], known: readonly string[]): string {
  if (near.length === 0) return `no series of any known engine (${known.join(', ')})`;
  return 'no series that only one known engine has; see which come close';
}

async function load(
  page: string,
  options: ExplainOptions,
  io: ExplainIo,
): Promise<Uint8Array | undefined> {
  if (!isUrl(page)) {
    try {
      return await readFile(page === '-' ? '/dev/stdin' : page);
    } catch (error) {
      io.warn(`${(error as Error).message}\n`);
      io.setExitCode(exitCode.usage);
      return undefined;
    }
  }
  const fetcher = new PageFetcher(settingsOf(page, options), io.nowMs);
  const result = await fetcher.fetch();
  fetcher.close();
  if (isPage(result)) return result.bytes;
  const outcome = reasonName(result.reason);
  if (options.json) io.write(`${JSON.stringify({ outcome, detail: result.detail })}\n`);
  else io.warn(`${outcome}: ${result.detail}\n`);
  io.setExitCode(exitCode.bad);
  return undefined;
}

function isUrl(page: string): boolean {
  return /^https?:\/\//.test(page);
}

function settingsOf(url: string, options: ExplainOptions): FetchSettings {
  return {
    url,
    timeoutMs: options.timeoutMs,
    bytesMax: options.bytesMax,
    tokenFile: options.tokenFile,
    localAddress: '',
    tlsCaFile: '',
    tlsVerify: options.insecure !== true,
  };
}

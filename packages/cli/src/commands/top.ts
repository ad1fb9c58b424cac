/**
 * `leadsman top [URL…]`: pools and endpoints as pickers or collectors see them now. On a terminal
 * it goes on until `q`; into a pipe, and with `--json`, it is one snapshot.
 *
 * A snapshot takes two looks, as picks per second are the difference of two.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { type AskSettings, readToken } from '../ask/ask.ts';
import { baseUrls, positive } from '../ask/option-values.ts';
import { type CommandIo, exitCode } from '../io/command-io.ts';
import { footerOf, type KeyState, press } from '../top/keys.ts';
import { type Look, look } from '../top/look.ts';
import { type SortKey, sortKeys } from '../top/order.ts';
import { screenOf } from '../top/screen.ts';
import { Terminal, type TerminalInput, type TerminalOutput } from '../top/terminal.ts';

export interface TopIo extends CommandIo {
  nowMs(): number;
  /** Undefined where standard input or output is no terminal. */
  terminal: { input: TerminalInput; output: TerminalOutput } | undefined;
  /** Whether colours are wanted (NO_COLOR, dumb terminals). */
  colour: boolean;
}

interface TopOptions {
  sort: SortKey;
  reverse: boolean;
  filter: string;
  once?: true;
  json?: true;
  intervalMs: number;
  columns?: number;
  timeoutMs: number;
  tokenFile: string;
}

/** Columns of a snapshot, whatever reads it. */
const snapshotColumns = 80;

export function topCommand(io: TopIo): Command {
  return new Command('top')
    .description('show pools and endpoints as a picker or collector sees them, live')
    .argument(
      '[url...]',
      'pickers or collectors, host:port or URL (default 127.0.0.1:9090)',
      baseUrls,
    )
    .addOption(
      new Option('--sort <key>', 'order of the endpoints').choices(sortKeys).default('trouble'),
    )
    .option('--reverse', 'the other way round', false)
    .option('--filter <words>', 'only endpoints with these words; !word: without it', '')
    .option('--once', 'one snapshot, also on a terminal')
    .option('--json', 'one snapshot as a JSON object')
    .option('--interval-ms <ms>', 'between two looks', positive, 1_000)
    .option('--columns <n>', 'width of a snapshot (default 80)', positive)
    .option('--timeout-ms <ms>', 'how long to wait for an answer', positive, 5_000)
    .option('--token-file <file>', 'file with a bearer token', '')
    .action(async (urls: URL[], options: TopOptions) => {
      const bases = urls.length > 0 ? urls : [new URL('http://127.0.0.1:9090/')];
      const settings = { timeoutMs: options.timeoutMs, token: await readToken(options.tokenFile) };
      const { terminal } = io;
      if (terminal === undefined || options.once || options.json) {
        await snapshot(bases, settings, options, io);
      } else await live(bases, settings, options, io, terminal);
    });
}

async function snapshot(
  bases: readonly URL[],
  settings: AskSettings,
  options: TopOptions,
  io: TopIo,
): Promise<void> {
  const first = await look(bases, settings, io.nowMs);
  await delay(options.intervalMs);
  const { fleet } = await look(bases, settings, io.nowMs, first);
  if (options.json) io.write(`${JSON.stringify(fleet)}\n`);
  else {
    const columns = options.columns ?? snapshotColumns;
    const settings = { ...options, columns, rows: Infinity, offset: 0, colour: false, footer: '' };
    io.write(`${screenOf(fleet, settings).lines.join('\n')}\n`);
  }
  if (!fleet.sources.every((source) => source.ok)) io.setExitCode(exitCode.bad);
}

async function live(
  bases: readonly URL[],
  settings: AskSettings,
  options: TopOptions,
  io: TopIo,
  { input, output }: NonNullable<TopIo['terminal']>,
): Promise<void> {
  const { sort, reverse, filter } = options;
  const state: KeyState = { sort, reverse, filter, offset: 0, typing: undefined, ended: false };
  const ending = new AbortController();
  let last: Look | undefined;
  let page = 1;
  const draw = () => {
    const lines = ['asking …'];
    if (last !== undefined) {
      const { columns, rows } = terminal;
      const footer = footerOf(state);
      const screen = screenOf(last.fleet, { ...state, columns, rows, colour: io.colour, footer });
      page = screen.fitting;
      // Scrolling ends with the list.
      state.offset = Math.max(0, Math.min(state.offset, screen.matching - screen.fitting));
      lines.splice(0, 1, ...screen.lines);
    }
    terminal.show(lines);
  };
  const terminal: Terminal = new Terminal(input, output, {
    onKeys: (keys) => {
      press(state, keys, page);
      if (state.ended) ending.abort();
      else draw();
    },
    onResize: draw,
  });
  try {
    draw();
    while (!ending.signal.aborted) {
      last = await look(bases, settings, io.nowMs, last);
      if (ending.signal.aborted) break;
      draw();
      await delay(options.intervalMs, undefined, { signal: ending.signal }).catch(() => {});
    }
  } finally {
    terminal.close();
  }
}

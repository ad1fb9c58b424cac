/**
 * `npm run demo`. Reads flags, wires the parts, and leaves no process behind: every child is
 * stopped here in order, and by the reaper when this process is killed.
 */
import { runDemo } from './demo.ts';
import { type DemoOptions, demoHelp, OptionsError, readOptions } from './options.ts';
import { createPaint } from './paint.ts';
import { createScreen, type Screen } from './screen.ts';
import { summaryText } from './summary.ts';

const abort = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    // A second one ends at once; the reaper then takes the children.
    if (abort.signal.aborted) process.exit(130);
    abort.abort();
  });
}

process.exitCode = await main();

async function main(): Promise<number> {
  let options: DemoOptions | undefined;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    process.stderr.write(`${error.message}\n\n${demoHelp}`);
    return 2;
  }
  if (options === undefined) {
    process.stdout.write(demoHelp);
    return 0;
  }
  return run(options);
}

function interrupted(screen: Screen): number {
  screen.step('stopped; no process is left');
  return 130;
}

async function run(options: DemoOptions): Promise<number> {
  const now = () => performance.now();
  const screen = createScreen(options.json ? process.stderr : process.stdout, now);
  try {
    const { result, failures } = await runDemo(options, screen, now, abort.signal);
    if (abort.signal.aborted) return interrupted(screen);
    if (options.json) process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
    else {
      const paint = createPaint(process.stdout.isTTY === true);
      process.stdout.write(`\n${summaryText(result, paint)}`);
    }
    for (const failure of new Set(failures)) process.stderr.write(`failed: ${failure}\n`);
    const idle = Object.entries(result.picks).filter(([, count]) => count === 0);
    for (const [endpoint] of idle) process.stderr.write(`${endpoint} was never picked\n`);
    return options.check && (result.failed > 0 || idle.length > 0) ? 1 : 0;
  } catch (error) {
    if (abort.signal.aborted) return interrupted(screen);
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

/**
 * `leadsman reload URL`: has a running picker read its strategy file and modules anew, now, and
 * shows what is wrong with them if anything is. For several replicas give several addresses.
 */
import { Command } from 'commander';
import { type AskSettings, ask, isAnswer, readToken } from '../ask/ask.ts';
import { baseUrls, positive } from '../ask/option-values.ts';
import { type CommandIo, exitCode } from '../io/command-io.ts';

interface ReloadOptions {
  json?: true;
  timeoutMs: number;
  tokenFile: string;
}

export function reloadCommand(io: CommandIo): Command {
  return new Command('reload')
    .description("take over a picker's changed strategy file and modules")
    .argument('<picker...>', "admin address of each picker's, host:port or URL", baseUrls)
    .option('--json', 'one JSON object instead of text')
    .option('--timeout-ms <ms>', 'how long to wait for each', positive, 15_000)
    .option('--token-file <file>', 'file with a bearer token', '')
    .action(async (pickers: URL[], options: ReloadOptions) => {
      const settings = { timeoutMs: options.timeoutMs, token: await readToken(options.tokenFile) };
      const results: { url: string; reloaded: boolean; problems: readonly string[] }[] = [];
      for (const picker of pickers) {
        const problems = await reload(picker, settings);
        const url = picker.href.replace(/\/$/, '');
        results.push({ url, reloaded: problems.length === 0, problems });
        if (problems.length > 0) io.setExitCode(exitCode.bad);
        if (options.json) continue;
        if (problems.length === 0) io.write(`${url}: in use\n`);
        for (const problem of problems) io.warn(`${url}: ${problem}\n`);
      }
      if (options.json) io.write(`${JSON.stringify({ pickers: results })}\n`);
    });
}

/** Faults as the picker tells them; empty when the new configuration is in use. */
async function reload(picker: URL, settings: AskSettings): Promise<readonly string[]> {
  const answer = await ask(picker, 'v1/reload', settings, 'POST');
  if (!isAnswer(answer)) return [`no answer: ${answer.problem}`];
  if (answer.status === 200) return [];
  if (answer.status === 401 || answer.status === 403) return ['wants a token: --token-file'];
  try {
    const body = JSON.parse(answer.text) as { problems?: readonly string[] };
    if (Array.isArray(body.problems)) return body.problems;
  } catch {
    // Not a picker's answer: its status has to do.
  }
  return [`answered ${answer.status}`];
}

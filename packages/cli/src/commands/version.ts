/** `leadsman version [URL…]`: of this tool, and of the processes at these addresses. */
import { buildVersion } from '@leadsman/service/version';
import { frameVersion } from '@leadsman/wire';
import { Command } from 'commander';
import { ask, isAnswer } from '../ask/ask.ts';
import { baseUrls, positive } from '../ask/option-values.ts';
import { type CommandIo, exitCode } from '../io/command-io.ts';

export function versionCommand(io: CommandIo): Command {
  return new Command('version')
    .description('say the version of this tool, and of running processes')
    .argument('[url...]', 'admin addresses of any of our processes, host:port or URL', baseUrls)
    .option('--json', 'one JSON object instead of text')
    .option('--timeout-ms <ms>', 'how long to wait for each', positive, 5_000)
    .action(async (urls: URL[], options: { json?: true; timeoutMs: number }) => {
      const processes = await Promise.all(urls.map((url) => versionOf(url, options.timeoutMs)));
      const tool = { version: buildVersion, wire: frameVersion, node: process.versions.node };
      if (options.json) io.write(`${JSON.stringify({ ...tool, processes })}\n`);
      else {
        io.write(`leadsman ${tool.version} (wire ${tool.wire}, Node ${tool.node})\n`);
        for (const { url, version, problem } of processes) {
          io.write(`${url}  ${version ?? problem}\n`);
        }
      }
      if (processes.some(({ version }) => version === null)) io.setExitCode(exitCode.bad);
    });
}

async function versionOf(url: URL, timeoutMs: number) {
  const answer = await ask(url, 'healthz', { timeoutMs, token: '' });
  if (!isAnswer(answer)) return { url: url.href, version: null, problem: answer.problem };
  const problem = 'does not say its version: older than 0.1.0, or none of ours';
  if (answer.version === '') return { url: url.href, version: null, problem };
  return { url: url.href, version: answer.version, problem: null };
}

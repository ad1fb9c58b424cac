/**
 * `leadsman doctor URL…`: goes along the way of requests and numbers, and says what is wrong, by what
 * it can be seen, and what to do. It says nothing where nothing is wrong.
 */
import { Command } from 'commander';
import { readToken } from '../ask/ask.ts';
import { baseUrl, baseUrls, positive } from '../ask/option-values.ts';
import { diagnose } from '../doctor/diagnose.ts';
import { gather, type PartAddress, type PartKind, partKinds } from '../doctor/evidence.ts';
import type { Finding } from '../doctor/finding.ts';
import { type CommandIo, exitCode } from '../io/command-io.ts';

type DoctorOptions = {
  json?: true;
  intervalMs: number;
  timeoutMs: number;
  tokenFile: string;
} & { [Kind in PartKind]?: URL[] };

export function doctorCommand(io: CommandIo): Command {
  const command = new Command('doctor')
    .description('find what is wrong on the way from gateway to engine, and what to do')
    .argument(
      '[url...]',
      'admin addresses of any parts; what each is, is found out by asking',
      baseUrls,
    );
  for (const kind of partKinds) {
    command.option(`--${kind} <url>`, `a ${kind}: known also when it does not answer`, addressOf);
  }
  return command
    .option('--json', 'one JSON object instead of text')
    .option('--interval-ms <ms>', 'between the two looks', positive, 2_000)
    .option('--timeout-ms <ms>', 'how long to wait for each answer', positive, 5_000)
    .option('--token-file <file>', 'file with a bearer token', '')
    .action(async (urls: URL[], options: DoctorOptions) => {
      const addresses: PartAddress[] = urls.map((base) => ({ base, kind: undefined }));
      for (const kind of partKinds) {
        for (const base of options[kind] ?? []) addresses.push({ base, kind });
      }
      if (addresses.length === 0) {
        io.warn('give at least one address: leadsman doctor localhost:9090\n');
        io.setExitCode(exitCode.usage);
        return;
      }
      const settings = { timeoutMs: options.timeoutMs, token: await readToken(options.tokenFile) };
      const parts = await gather(addresses, settings, options.intervalMs);
      const findings = diagnose(parts);
      if (options.json) {
        const asked = parts.map(({ url, kind, version }) => ({ url, kind: kind ?? null, version }));
        io.write(`${JSON.stringify({ asked, findings })}\n`);
      } else io.write(findings.map(findingText).join('\n'));
      if (findings.length > 0) io.setExitCode(exitCode.bad);
    });
}

/** An engine's page may be given as it is scraped. */
function addressOf(text: string, before: URL[] | undefined): URL[] {
  return [...(before ?? []), baseUrl(text.replace(/\/metrics\/?$/, ''))];
}

function findingText({ name, where, evidence, advice }: Finding): string {
  return `${name}: ${where}\n  seen: ${evidence}\n  do:   ${advice}\n`;
}

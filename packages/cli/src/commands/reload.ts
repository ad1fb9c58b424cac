/**
 * `leadsman reload URL`: has a running picker read its strategy file and modules anew, now, and
 * shows what is wrong with them if anything is. For several replicas give several addresses.
 */
import { Command, InvalidArgumentError } from 'commander';
import { request } from 'undici';

export interface ReloadIo {
  write(text: string): void;
  warn(text: string): void;
  /** Ends the command with this code: 1 when any picker refused or did not answer. */
  setExitCode(code: number): void;
}

export function reloadCommand(io: ReloadIo): Command {
  return new Command('reload')
    .description("take over a picker's changed strategy file and modules")
    .argument('<picker...>', "admin address of each picker's, http://host:9090")
    .option('--timeout-ms <ms>', 'how long to wait for each', positive, 15_000)
    .action(async (pickers: string[], { timeoutMs }: { timeoutMs: number }) => {
      for (const picker of pickers) {
        const problems = await reload(picker, timeoutMs);
        if (problems.length === 0) io.write(`${picker}: in use\n`);
        else {
          for (const problem of problems) io.warn(`${picker}: ${problem}\n`);
          io.setExitCode(1);
        }
      }
    });
}

/** Faults as the picker tells them; empty when the new configuration is in use. */
async function reload(picker: string, timeoutMs: number): Promise<readonly string[]> {
  try {
    const reply = await request(new URL('/v1/reload', picker), {
      method: 'POST',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body = (await reply.body.json()) as { problems?: readonly string[] };
    if (reply.statusCode === 200) return [];
    return body.problems ?? [`answered ${reply.statusCode}`];
  } catch (error) {
    return [`no answer: ${(error as Error).message}`];
  }
}

function positive(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('not a number ≥ 1');
  return number;
}

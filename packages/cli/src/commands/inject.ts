/** `leadsman inject`: prints manifests with the sidecar added to their pods. */
import { readFile } from 'node:fs/promises';
import { text as readStream } from 'node:stream/consumers';
import { readSidecarTemplate } from '@leadsman/injector';
import { buildVersion } from '@leadsman/service/version';
import { Command } from 'commander';
import { parse } from 'yaml';
import type { CommandIo } from '../io/command-io.ts';
import { injectManifest } from './inject-manifest.ts';

export interface InjectIo extends Pick<CommandIo, 'write' | 'warn'> {
  readonly stdin: NodeJS.ReadableStream;
}

interface Flags {
  readonly file: string[];
  readonly template?: string;
  readonly image?: string;
  readonly natsUrl?: string;
  readonly replace: boolean;
  readonly json?: true;
}

/** The image of this version, unless a flag or a template names another. */
const imageDefault = `leadsman/leadsman:${buildVersion}`;

/** The subcommand; the caller adds it to its program. */
export function injectCommand(io: InjectIo): Command {
  return new Command('inject')
    .description('Print manifests with the sidecar added to their pods; comments stay.')
    .requiredOption('-f, --file <file...>', 'manifest files; - reads standard input')
    .option('--template <file>', 'YAML file that describes the sidecar (see docs/kubernetes.md)')
    .option('--image <image>', `image of the sidecar (default ${imageDefault})`)
    .option('--nats-url <urls>', 'NATS servers of the sidecar, comma list')
    .option('--replace', 'take out a sidecar that is there and add it anew', false)
    .option('--json', 'the manifests and what was done to each as one JSON object')
    .action(async (flags: Flags) => {
      const template = await templateOf(flags);
      const texts: string[] = [];
      const done: object[] = [];
      for (const file of flags.file) {
        const source = file === '-' ? await readStream(io.stdin) : await readFile(file, 'utf8');
        const { text, reports } = injectManifest(source, { template, replace: flags.replace });
        texts.push(text);
        for (const { subject, outcome, notes } of reports) {
          done.push({ file, subject, outcome, notes });
          if (!flags.json) io.warn(`${file}: ${subject}: ${[outcome, ...notes].join('; ')}\n`);
        }
        if (reports.length === 0) io.warn(`${file}: nothing here makes pods\n`);
      }
      const manifest = texts.reduce(joinDocuments, '');
      io.write(flags.json ? `${JSON.stringify({ manifest, reports: done })}\n` : manifest);
    });
}

async function templateOf(flags: Flags) {
  const read = flags.template === undefined ? {} : parse(await readFile(flags.template, 'utf8'));
  const given = (read ?? {}) as { image?: string; env?: Record<string, string> };
  const env = flags.natsUrl === undefined ? {} : { LEADSMAN_NATS_URL: flags.natsUrl };
  return readSidecarTemplate(
    {
      ...given,
      image: flags.image ?? given.image ?? imageDefault,
      env: { ...given.env, ...env },
    },
    flags.template ?? 'flags',
  );
}

/** Several files become one stream of documents. */
function joinDocuments(before: string, next: string): string {
  if (before === '') return next;
  const gap = before.endsWith('\n') ? '' : '\n';
  return `${before}${gap}${next.startsWith('---') ? '' : '---\n'}${next}`;
}

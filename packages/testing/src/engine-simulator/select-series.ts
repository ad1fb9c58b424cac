/**
 * A page asked for by name (`name[]=…`), as the Prometheus client library answers it: of each family
 * the samples whose names were given, under its HELP and TYPE; nothing of a family without any.
 */
import { expositionNumber } from './exposition-number.ts';

/** A sample of a page that is rendered: its line up to the number, and its family's head. */
export interface PageSample {
  name: string;
  head: string;
  line: string;
  value: () => number;
}

/** The names that a request asks for; `undefined`: for the whole page. */
export function namesAsked(url: string): ReadonlySet<string> | undefined {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
  return query.has('name[]') ? new Set(query.getAll('name[]')) : undefined;
}

/** The part of `samples` that has these names, to be rendered again and again. */
export function selectSamples(
  samples: readonly PageSample[],
  names: ReadonlySet<string>,
): () => string {
  const selected = samples.filter(({ name }) => names.has(name));
  return () => {
    let text = '';
    let head = '';
    for (const sample of selected) {
      if (sample.head !== head) {
        head = sample.head;
        text += head;
      }
      text += `${sample.line}${expositionNumber(sample.value())}\n`;
    }
    return text;
  };
}

/** The same of a page that is text already. */
export function selectLines(page: string, names: ReadonlySet<string>): string {
  let text = '';
  let head = '';
  for (const line of page.split('\n')) {
    if (line.startsWith('# HELP ')) head = `${line}\n`;
    else if (line.startsWith('#')) head += `${line}\n`;
    else if (names.has(line.split(/[{ ]/, 1)[0]!)) {
      text += `${head}${line}\n`;
      head = '';
    }
  }
  return text;
}

/** Text as OpenMetrics, as far as the client library's page differs in what matters to a reader. */
export function asOpenMetrics(page: Buffer): Buffer {
  return Buffer.from(`${page.toString().replace(/^vllm:/gm, 'vllm_')}# EOF\n`);
}

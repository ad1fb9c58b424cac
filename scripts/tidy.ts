/**
 * Rules of the house that no linter knows: the size of files, the direction of imports, dead
 * document links, and calls that have a replacement here. Prints each breach, ends with 1.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const linesMax = 400;

/**
 * Where clocks, random sources and the environment enter: the files that start a process, and all
 * that never ships.
 */
const roots =
  /(^|\/)(main|start[a-z-]*)\.ts$|\.test\.ts$|^(bench|demo|e2e|scripts|packages\/testing)\//;

/** Support of tests beside the code: fixtures, harnesses, samples. */
const testSupport = /\.test\.ts$|-harness\.ts$|(^|\/)sample-[a-z-]+\.ts$|\/fixture\//;

interface Ban {
  pattern: RegExp;
  instead: string;
  /** Files that may. */
  except: RegExp;
}

const bans: readonly Ban[] = [
  {
    pattern: /\bDate\.now\(\)|\bnew Date\(\)/,
    instead: 'ages come from monotonicMs(), dates from an argument',
    except: roots,
  },
  {
    pattern: /\bMath\.random\(/,
    instead: 'take the random source as an argument',
    except: roots,
  },
  {
    pattern: /\bprocess\.env\b/,
    instead: 'read the environment once, by readConfig in main.ts',
    except: roots,
  },
  {
    pattern: /\bconsole\./,
    instead: 'log by the pino logger, or write to stdout on purpose',
    except: /\.test\.ts$|^(bench|demo|e2e|scripts|packages\/testing)\//,
  },
];

/** What each package may import of ours. */
const mayImport: Record<string, readonly string[]> = {
  wire: [],
  service: [],
  kube: [],
  scrape: ['wire'],
  link: ['wire', 'service'],
  sidecar: ['wire', 'service', 'link', 'scrape', 'view'],
  'node-agent': ['wire', 'service', 'link', 'scrape', 'kube'],
  view: ['wire'],
  collector: ['wire', 'service', 'link', 'view'],
  scheduling: ['wire', 'service', 'link', 'view'],
  'ext-proc': ['service', 'scheduling'],
  picker: ['wire', 'service', 'link', 'view', 'collector', 'kube', 'scheduling', 'ext-proc'],
  injector: ['service', 'kube'],
  cli: ['wire', 'scrape', 'injector'],
  testing: [],
};

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(file));
const breaches: string[] = [];

for (const file of files) {
  if (file.endsWith('.ts')) checkSource(file, readFileSync(file, 'utf8'));
  if (file.endsWith('.md')) checkLinks(file, readFileSync(file, 'utf8'));
}
process.stdout.write(breaches.map((breach) => `${breach}\n`).join(''));
process.stdout.write(`tidy: ${files.length} files, ${breaches.length} breaches\n`);
process.exit(breaches.length === 0 ? 0 : 1);

function checkSource(file: string, text: string): void {
  const lines = text.split('\n');
  if (lines.length > linesMax && !/\.test\.ts$/.test(file)) {
    breaches.push(`${file}: ${lines.length} lines; one concept should need fewer than ${linesMax}`);
  }
  for (const [i, line] of lines.entries()) {
    const code = line.replace(/^\s*(\/\/|\*|\/\*).*$/, '');
    for (const ban of bans) {
      if (ban.pattern.test(code) && !ban.except.test(file) && !testSupport.test(file)) {
        breaches.push(`${file}:${i + 1}: ${ban.instead}`);
      }
    }
  }
  checkImports(file, text);
}

function checkImports(file: string, text: string): void {
  const [, owner] = /^packages\/([^/]+)\/src\//.exec(file) ?? [];
  if (owner === undefined || testSupport.test(file)) return;
  for (const match of text.matchAll(/from '@leadsman\/([a-z-]+)[^']*'/g)) {
    const imported = match[1] ?? '';
    if (imported !== owner && !(mayImport[owner] ?? []).includes(imported)) {
      breaches.push(`${file}: ${owner} must not import ${imported}`);
    }
  }
}

function checkLinks(file: string, text: string): void {
  for (const match of text.matchAll(/\]\(([^)\s#]+)(#[^)]*)?\)/g)) {
    const target = match[1] ?? '';
    if (/^[a-z]+:/.test(target)) continue;
    const path = normalize(join(dirname(file), target));
    if (!existsSync(path)) breaches.push(`${file}: dead link ${target}`);
  }
}

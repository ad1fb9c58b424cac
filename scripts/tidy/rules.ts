/** The rules of one file: its size, and calls that have a replacement here. */
import { type SourceFile, testSupport } from './source-graph.ts';

const linesMax = 400;

/**
 * Where clocks, random sources and the environment enter: the files that start a process, and all
 * that never ships.
 */
const roots =
  /(^|\/)(main|start[a-z-]*)\.ts$|\.test\.ts$|^(bench|demo|e2e|scripts|packages\/testing)\//;

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
    instead: 'log by the logger, or write to stdout on purpose',
    except: /\.test\.ts$|^(bench|demo|e2e|scripts|packages\/testing)\//,
  },
  {
    pattern:
      /\b(?:interface|class|type|function|const|let) (?:Record|Response|Request|Pick|Event)\b/,
    instead: 'this name shadows a global; choose another',
    except: /^$/,
  },
];

/** A mark that refers to a list which is not part of the project. */
const foreignMark = /(\/\/|\*)[^'"]*\b[A-Z]\d{2}\b(?!:)/;

/** What is wrong with one source file by itself, a line each. */
export function breachesOf({ path, text }: SourceFile): string[] {
  const breaches: string[] = [];
  const lines = text.split('\n');
  if (lines.length > linesMax && !/\.test\.ts$/.test(path)) {
    breaches.push(`${path}: ${lines.length} lines; one concept should need fewer than ${linesMax}`);
  }
  for (const [i, line] of lines.entries()) {
    if (foreignMark.test(line)) {
      breaches.push(`${path}:${i + 1}: a mark that refers to nothing here`);
    }
    const code = line.replace(/^\s*(\/\/|\*|\/\*).*$/, '');
    for (const ban of bans) {
      if (ban.pattern.test(code) && !ban.except.test(path) && !testSupport.test(path)) {
        breaches.push(`${path}:${i + 1}: ${ban.instead}`);
      }
    }
  }
  return breaches;
}

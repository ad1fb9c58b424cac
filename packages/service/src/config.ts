/**
 * Configuration of a process: flags and environment variables, read once, validated whole.
 *
 * A zod object gives the names, types, bounds, defaults and help texts. `scrapeIntervalMs` is
 * read from `--scrape-interval-ms 50`, else `LEADSMAN_SCRAPE_INTERVAL_MS=50`, else its default.
 * All faults are reported at once: an operator fixes a manifest once, not six times.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import * as z from 'zod';

const environmentPrefix = 'LEADSMAN_';

/** Everything wrong with a configuration, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`configuration is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** What {@link readConfig} throws on `--help`: print `text` and end with success. */
export class HelpRequested extends Error {
  override readonly name = 'HelpRequested';
  readonly text: string;

  constructor(text: string) {
    super('help requested');
    this.text = text;
  }
}

export interface ConfigSource {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Name of the process, for the help text. */
  name: string;
  /** Gets a line for each former spelling in use; stderr unless given. */
  warn?: (text: string) => void;
}

/**
 * Reads and validates a configuration; the result is frozen. Throws {@link ConfigError} with all
 * faults (unknown flags too), or {@link HelpRequested}.
 */
export function readConfig<S extends z.ZodObject>(
  shape: S,
  source: ConfigSource,
): Readonly<z.output<S>> {
  const problems: string[] = [];
  const flags = readFlags(shape, source, problems);
  const input: Record<string, unknown> = {};
  for (const key of Object.keys(shape.shape)) {
    const text =
      flags[flagName(key)] ??
      nonEmpty(source.env[environmentName(key)]) ??
      formerText(shape.shape[key] as z.ZodType, key, flags, source);
    if (text === undefined) continue;
    const value = convert(shape.shape[key] as z.ZodType, text);
    if (value === undefined) problems.push(`${describeName(key)}: "${text}" has the wrong form`);
    else input[key] = value;
  }
  const result = shape.safeParse(input);
  if (!result.success) {
    for (const issue of result.error.issues) {
      const key = String(issue.path[0] ?? '');
      if (!problems.some((problem) => problem.startsWith(describeName(key)))) {
        problems.push(`${describeName(key)}: ${issue.message}`);
      }
    }
  }
  if (problems.length > 0 || !result.success) throw new ConfigError(problems);
  return Object.freeze(result.data);
}

/** The help text: every flag, its variable, default and meaning. */
function helpText(shape: z.ZodObject, name: string): string {
  const lines = [`Usage: ${name} [flags]`, '', 'Each flag has a variable; the flag wins.', ''];
  for (const [key, field] of Object.entries(shape.shape)) {
    const type = field as z.ZodType;
    const fallback =
      type instanceof z.ZodDefault ? ` (default ${String(type.def.defaultValue)})` : '';
    lines.push(`  --${flagName(key)}  ${environmentName(key)}${fallback}`);
    if (type.description !== undefined) lines.push(`      ${type.description}`);
  }
  return `${lines.join('\n')}\n`;
}

/** `scrapeIntervalMs` → `scrape-interval-ms`. */
export function flagName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `scrapeIntervalMs` → `LEADSMAN_SCRAPE_INTERVAL_MS`. */
export function environmentName(key: string): string {
  return environmentPrefix + flagName(key).replaceAll('-', '_').toUpperCase();
}

function readFlags(
  shape: z.ZodObject,
  source: ConfigSource,
  problems: string[],
): Record<string, string | undefined> {
  const options: NonNullable<ParseArgsConfig['options']> = { help: { type: 'boolean' } };
  for (const key of Object.keys(shape.shape)) {
    const boolean = innermost(shape.shape[key] as z.ZodType) instanceof z.ZodBoolean;
    const type = boolean ? 'boolean' : 'string';
    options[flagName(key)] = { type };
    const former = formerKey(shape.shape[key] as z.ZodType);
    if (former !== undefined) options[flagName(former)] = { type };
  }
  const { values, tokens } = parseArgs({
    args: [...source.argv],
    options,
    strict: false,
    allowNegative: true,
    tokens: true,
  });
  if (values.help === true) throw new HelpRequested(helpText(shape, source.name));
  const flags: Record<string, string | undefined> = {};
  for (const token of tokens) {
    if (token.kind === 'positional') problems.push(`unexpected argument: ${token.value}`);
    if (token.kind !== 'option' || token.name === 'help') continue;
    const value = values[token.name];
    if (!Object.hasOwn(options, token.name)) problems.push(`unknown flag: ${token.rawName}`);
    else if (options[token.name]?.type === 'string' && typeof value !== 'string') {
      problems.push(`${token.rawName}: needs a value`);
    } else if (options[token.name]?.type === 'boolean' && token.value !== undefined) {
      // `--tls=false` reads naturally although a boolean flag takes no value.
      flags[token.name] = token.value;
    } else flags[token.name] = String(value);
  }
  return flags;
}

/** The key under which a setting was known in the release before: `.meta({ formerly: 'key' })`. */
function formerKey(type: z.ZodType): string | undefined {
  const former = type.meta()?.formerly;
  return typeof former === 'string' ? former : undefined;
}

function formerText(
  type: z.ZodType,
  key: string,
  flags: Record<string, string | undefined>,
  { env, warn }: ConfigSource,
): string | undefined {
  const former = formerKey(type);
  if (former === undefined) return undefined;
  const text = flags[flagName(former)] ?? nonEmpty(env[environmentName(former)]);
  if (text === undefined) return undefined;
  const say = warn ?? ((line: string) => process.stderr.write(`${line}\n`));
  say(`${describeName(former)} is called ${describeName(key)} now; the next release forgets it`);
  return text;
}

/** Text → the type the schema wants; `undefined` when that is not possible. */
function convert(type: z.ZodType, text: string): unknown {
  const inner = innermost(type);
  if (inner instanceof z.ZodNumber) {
    return text.trim() === '' || Number.isNaN(Number(text)) ? undefined : Number(text);
  }
  if (inner instanceof z.ZodBoolean) {
    return ({ true: true, '1': true, false: false, '0': false } as Record<string, boolean>)[text];
  }
  if (inner instanceof z.ZodArray) {
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  }
  return text;
}

function innermost(type: z.ZodType): z.ZodType {
  let inner = type;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodOptional) {
    inner = inner.unwrap() as z.ZodType;
  }
  return inner;
}

function describeName(key: string): string {
  return `--${flagName(key)} (${environmentName(key)})`;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/**
 * What a test does when Envoy or NATS is missing: locally it is skipped, loudly; where CI=true it
 * fails, as a skipped end-to-end test would look like a passed one.
 *
 * ```ts
 * describe.skipIf(!requireEnvoy())('picks', () => { … });
 * ```
 */
import { locateTool, type ToolName, tools } from '../../../../scripts/fetch-tools.mjs';

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether Envoy is there. Throws when it is not and CI=true. */
export function requireEnvoy(env: Environment = process.env): boolean {
  return requireTool('envoy', env);
}

/** Whether nats-server is there. Throws when it is not and CI=true. */
export function requireNats(env: Environment = process.env): boolean {
  return requireTool('nats', env);
}

/** The path of a tool. Throws an error that says how to get it. */
export function toolPath(name: ToolName): string {
  const path = locateTool(name);
  if (path === undefined) throw new Error(missing(name));
  return path;
}

function requireTool(name: ToolName, env: Environment): boolean {
  if (locateTool(name, env) !== undefined) return true;
  if (env.CI === 'true') throw new Error(missing(name));
  console.warn(`\n!!! SKIPPED: ${missing(name)} !!!\n`);
  return false;
}

function missing(name: ToolName): string {
  const { title, environment } = tools[name];
  return `${title} is missing: run "node scripts/fetch-tools.mjs", or set ${environment} to its path`;
}

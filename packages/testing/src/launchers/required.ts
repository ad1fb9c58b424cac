/**
 * What a test does when Envoy or NATS is missing: locally it is skipped, loudly; where CI=true it
 * fails, as a skipped end-to-end test would look like a passed one.
 *
 * ```ts
 * describe.skipIf(!requireEnvoy())('picks', () => { … });
 * ```
 */
import { locateTool, type ToolName, tools } from '../../../../scripts/fetch-tools.mjs';

/** Whether Envoy is there. Throws when it is not and CI=true. */
export function requireEnvoy(): boolean {
  return requireTool('envoy');
}

/** Whether nats-server is there. Throws when it is not and CI=true. */
export function requireNats(): boolean {
  return requireTool('nats');
}

function requireTool(name: ToolName): boolean {
  if (locateTool(name) !== undefined) return true;
  const { title, environment } = tools[name];
  const message = `${title} is missing: run "node scripts/fetch-tools.mjs", or set ${environment}`;
  if (process.env.CI === 'true') throw new Error(message);
  console.warn(`\n!!! SKIPPED: ${message} !!!\n`);
  return false;
}

/** The path of a tool. Throws an error that says how to get it. */
export function toolPath(name: ToolName): string {
  const path = locateTool(name);
  if (path !== undefined) return path;
  const { title, environment } = tools[name];
  throw new Error(
    `${title} is missing: run "node scripts/fetch-tools.mjs", or set ${environment} to its path`,
  );
}

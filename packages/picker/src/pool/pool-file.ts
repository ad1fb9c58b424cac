/**
 * Pools written in a YAML file, for gateways without Kubernetes:
 *
 * ```yaml
 * pools:
 *   - name: chat
 *     authorities: [chat-epp.serving]     # optional: how gateways call the picker for this pool
 *     endpoints:
 *       - address: 10.0.0.7
 *         port: 8000
 *         podUid: 0b8c1c52-3f5e-4f0e-9d59-6f1f4a1f6b11   # optional, see below
 *         podName: chat-0                                # optional
 *         labels: { tier: gold }                         # optional
 * ```
 *
 * Without `podUid` an endpoint is whichever reporting pod has its address and port.
 */
import { canonicalAddress, podKeyFromUid, podKeyText } from '@leadsman/wire';
import { LineCounter, parseDocument } from 'yaml';
import * as z from 'zod';

const endpoint = z.strictObject({
  /** Canonical, however it is written. */
  address: z.string().transform((text, context) => {
    const address = canonicalAddress(text);
    if (address !== undefined) return address;
    context.addIssue({ code: 'custom', message: 'not an IP address' });
    return z.NEVER;
  }),
  port: z.number().int().min(1).max(65_535),
  podUid: z.string().min(1).optional(),
  podName: z.string().default(''),
  namespace: z.string().default(''),
  labels: z.record(z.string(), z.string()).default({}),
});

const file = z.strictObject({
  pools: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        authorities: z.array(z.string().min(1)).default([]),
        objectives: z.record(z.string(), z.number().int()).default({}),
        endpoints: z.array(endpoint).default([]),
      }),
    )
    .min(1),
});

export type PoolFile = z.output<typeof file>;
export type PoolFileEndpoint = z.output<typeof endpoint>;

/** Everything wrong with a pool file, each problem with its line. */
export class PoolFileError extends Error {
  override readonly name = 'PoolFileError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/** Reads and checks the text of a pool file. Throws {@link PoolFileError} with all problems. */
export function parsePoolFile(text: string): PoolFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0) {
    throw new PoolFileError(
      document.errors.map((error) => `line ${lines.linePos(error.pos[0]).line}: ${error.code}`),
    );
  }
  const result = file.safeParse(document.toJS());
  const problems: string[] = [];
  const at = (path: readonly PropertyKey[]) => {
    for (let length = path.length; length >= 0; length--) {
      const node = document.getIn(path.slice(0, length), true);
      const start = (node as { range?: [number, number, number] } | undefined)?.range?.[0];
      if (start !== undefined) return `line ${lines.linePos(start).line}`;
    }
    return 'line 1';
  };
  if (!result.success) {
    for (const issue of result.error.issues) {
      problems.push(`${at(issue.path)}: ${issue.path.join('.')}: ${issue.message}`);
    }
    throw new PoolFileError(problems);
  }
  const names = new Set<string>();
  for (const [i, pool] of result.data.pools.entries()) {
    if (names.has(pool.name)) problems.push(`${at(['pools', i])}: pool ${pool.name} occurs twice`);
    names.add(pool.name);
    const targets = new Set<string>();
    for (const [j, { address, port }] of pool.endpoints.entries()) {
      const target = `${address} ${port}`;
      if (targets.has(target)) {
        problems.push(`${at(['pools', i, 'endpoints', j])}: ${target} occurs twice`);
      }
      targets.add(target);
    }
  }
  if (problems.length > 0) throw new PoolFileError(problems);
  return result.data;
}

/** The key of an endpoint that names its pod, or that no report has claimed yet. */
export function declaredPodKey(entry: PoolFileEndpoint): string {
  return podKeyText(podKeyFromUid(entry.podUid ?? `${entry.address}:${entry.port}`));
}

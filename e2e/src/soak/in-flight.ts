/** Two ways to count the requests that are under way. */
import type { Rig } from '@leadsman/testing';

/** Requests that the engines have accepted and not ended. */
export async function heldByEngines(rig: Rig): Promise<number> {
  const { engines } = await rig.engines.state();
  return engines.reduce((sum, { running, waiting }) => sum + running + waiting, 0);
}

/** Requests in flight by all pickers' own count. */
export async function inFlightOf(rig: Rig): Promise<number> {
  const counts = rig.pickers.map(async ({ adminUrl }) => {
    const reply = await fetch(`${adminUrl}/v1/endpoints`, { signal: AbortSignal.timeout(2_000) });
    const { endpoints } = (await reply.json()) as { endpoints: { inFlight: number }[] };
    return endpoints.reduce((sum, { inFlight }) => sum + inFlight, 0);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/** What a picker says of its endpoints, and the questions that the tests ask of it. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Rig, type RigPod, waitUntil } from '@leadsman/testing';

export interface ViewEndpoint {
  address: string;
  port: number;
  state: string;
  ageMs: number | null;
}

/** The picker's list as of now. */
export async function viewOf(adminUrl: string): Promise<ViewEndpoint[]> {
  const response = await fetch(`${adminUrl}/v1/endpoints`, { signal: AbortSignal.timeout(2_000) });
  return ((await response.json()) as { endpoints: ViewEndpoint[] }).endpoints;
}

/** Waits until the view holds a fresh report of every pod of the rig. */
export async function waitForCompleteView(rig: Rig, adminUrl: string): Promise<void> {
  let seen: ViewEndpoint[] = [];
  await waitUntil(
    async () => {
      seen = await viewOf(adminUrl);
      return isComplete(rig, seen);
    },
    { what: 'a fresh report of every pod', deadlineMs: 30_000, describe: () => summary(seen) },
  );
}

/** What a part that is back may take until the view is complete, ms. */
const recoveryMs = 2_000;
const lookMs = 20;

/**
 * As {@link waitForCompleteView}, within two seconds. They are counted in looks, 20 ms apart: a
 * machine too busy to run this test in time stretches them, as it stretches everything it tests.
 */
export async function expectRecovery(rig: Rig, adminUrl: string): Promise<void> {
  let seen: ViewEndpoint[] = [];
  for (let looks = 0; looks < recoveryMs / lookMs; looks++) {
    seen = await viewOf(adminUrl);
    if (isComplete(rig, seen)) return;
    await delay(lookMs);
  }
  throw new Error(`the view is not complete after ${recoveryMs} ms: ${summary(seen)}`);
}

function isComplete(rig: Rig, view: readonly ViewEndpoint[]): boolean {
  return view.filter((each) => each.state === 'fresh').length === rig.pods.length;
}

function summary(view: readonly ViewEndpoint[]): string {
  return view.map((each) => `${each.address} ${each.state} ${each.ageMs} ms`).join(', ');
}

/** Waits until the picker no longer trusts what it knows of `pod`. */
export async function waitForStale(rig: Rig, adminUrl: string, pod: RigPod): Promise<void> {
  const endpoint = rig.endpointOf(pod);
  await waitUntil(
    async () => {
      const view = await viewOf(adminUrl);
      const known = view.find((each) => `${each.address}:${each.port}` === endpoint);
      return known === undefined || known.state !== 'fresh';
    },
    { what: `${pod.name} to be stale`, deadlineMs: 20_000 },
  );
}

/** Requests that each engine has accepted so far. */
export async function servedBy(rig: Rig): Promise<number[]> {
  const { engines } = await rig.engines.state();
  return engines.map((engine) => engine.served);
}

/** Waits until an agent holds the reports of all pods of its node: its sidecars hand them to it. */
export async function waitForAgent(rig: Rig, nodeIndex: number): Promise<void> {
  const pods = rig.pods.filter((pod) => pod.nodeIndex === nodeIndex).length;
  const url = `http://${rig.agents[nodeIndex]!.addresses.reports}/metrics`;
  await waitUntil(
    async () => {
      const page = await (await fetch(url)).text();
      return Number(/^leadsman_node_agent_targets (\d+)/m.exec(page)?.[1]) === pods;
    },
    { what: `the agent of node ${nodeIndex} to hear of ${pods} pods`, deadlineMs: 20_000 },
  );
}

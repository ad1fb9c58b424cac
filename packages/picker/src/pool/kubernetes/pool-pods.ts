/**
 * The pods of one pool and the members they make: one per ready pod and target port.
 *
 * Cost: a change of one pod makes that pod's members anew (at most 8) and, once per flush, one
 * array of references to all of the pool's members.
 *
 * Invariant: no two members of a list have the same destination. An address is given to the next
 * pod within seconds, and its arrival may be seen before the former owner's end; the younger pod
 * is then the owner.
 */
import { matchesLabels, type PoolSpec, poolKey } from '@leadsman/kube';
import type { Member } from '@leadsman/scheduling/endpoint';
import { type PodFacts, type PodState, podStates, sameFacts } from './pod-facts.ts';

interface Entry {
  readonly facts: PodFacts;
  /** As this pool sees the pod. */
  readonly state: PodState;
  readonly members: readonly Member[];
}

export class PoolPods {
  readonly spec: PoolSpec;
  readonly #entries = new Map<string, Entry>();

  constructor(spec: PoolSpec) {
    this.spec = spec;
  }

  get key(): string {
    return poolKey(this.spec);
  }

  /** Takes a pod as it is now; whether the pool has changed by it. */
  put(facts: PodFacts): boolean {
    if (!matchesLabels(facts.labels, this.spec.selector)) return this.remove(facts.uid);
    const known = this.#entries.get(facts.uid);
    if (known !== undefined && sameFacts(known.facts, facts)) return false;
    const state = stateIn(facts, this.spec.ports);
    const members = state === 'ready' ? membersOf(facts, this.spec.ports) : [];
    this.#entries.set(facts.uid, { facts, state, members });
    return true;
  }

  remove(uid: string): boolean {
    return this.#entries.delete(uid);
  }

  /** All members; in no order that means anything, but the same for the same events. */
  members(): Member[] {
    const owners = new Map<string, string>();
    let contested = false;
    for (const { facts, state } of this.#entries.values()) {
      if (state !== 'ready') continue;
      const owner = owners.get(facts.address);
      if (owner === undefined) owners.set(facts.address, facts.uid);
      else {
        contested = true;
        if (this.#isYounger(facts, owner)) owners.set(facts.address, facts.uid);
      }
    }
    const members: Member[] = [];
    for (const entry of this.#entries.values()) {
      if (contested && owners.get(entry.facts.address) !== entry.facts.uid) continue;
      for (const member of entry.members) members.push(member);
    }
    return members;
  }

  /** Pods that match the selector, by state. */
  states(): Record<PodState, number> {
    const counts = Object.fromEntries(podStates.map((state) => [state, 0])) as Record<
      PodState,
      number
    >;
    for (const { state } of this.#entries.values()) counts[state]++;
    return counts;
  }

  /** Why pods have no endpoint, one line each, for people. */
  reasons(): string[] {
    const { spec } = this;
    const lines = [...spec.faults];
    if (this.#entries.size === 0 && spec.selector.length > 0) {
      const labels = spec.selector.map(([key, value]) => `${key}=${value}`).join(',');
      lines.push(`no pod in namespace ${spec.namespace} has the labels ${labels}`);
    }
    const details = new Map<string, number>();
    for (const { facts, state } of this.#entries.values()) {
      if (state === 'ready') continue;
      const words = state.replace('_', ' ');
      const detail =
        state === 'port_mismatch'
          ? `has ${facts.ports?.join(',')}, the pool wants ${spec.ports.join(',')}`
          : facts.detail;
      const text = detail === '' ? words : `${words} (${detail})`;
      details.set(text, (details.get(text) ?? 0) + 1);
    }
    for (const [text, count] of details) lines.push(`${count} of ${this.#entries.size}: ${text}`);
    return lines;
  }

  #isYounger(facts: PodFacts, owner: string): boolean {
    return facts.createdAt >= (this.#entries.get(owner)?.facts.createdAt ?? '');
  }
}

/** A ready pod that serves none of the pool's ports would only refuse connections. */
function stateIn(facts: PodFacts, ports: readonly number[]): PodState {
  if (facts.state !== 'ready' || facts.ports === undefined) return facts.state;
  return ports.some((port) => facts.ports?.includes(port)) ? 'ready' : 'port_mismatch';
}

function membersOf(facts: PodFacts, ports: readonly number[]): Member[] {
  return ports.map((port, rank) => ({
    podKey: facts.podKey,
    address: facts.address,
    port,
    rank,
    podName: facts.name,
    namespace: facts.namespace,
    labels: facts.labels,
  }));
}

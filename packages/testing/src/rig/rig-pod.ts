/** The pods of a rig: who they are, before anything of them runs. */
import { randomUUID } from 'node:crypto';

export interface RigPod {
  /** Position among all pods of the rig, and of its engine in the engine process. */
  readonly index: number;
  readonly name: string;
  readonly uid: string;
  /** Own loopback address, so that an agent can tell pods apart by their peer address. */
  readonly ip: string;
  readonly node: string;
  readonly nodeIndex: number;
}

/**
 * `perNode` pods on each of `nodes` nodes. Node n owns 127.x.(n+1).0/24: pods from .1 on, the node
 * itself is .100. `subnet` is the second number: rigs that run at the same time take different ones.
 */
export function rigPods(nodes: number, perNode: number, subnet: number): RigPod[] {
  const pods: RigPod[] = [];
  for (let nodeIndex = 0; nodeIndex < nodes; nodeIndex++) {
    for (let i = 0; i < perNode; i++) {
      pods.push({
        index: pods.length,
        name: `engine-${pods.length}`,
        uid: randomUUID(),
        ip: `127.${subnet}.${nodeIndex + 1}.${i + 1}`,
        node: nodeName(nodeIndex),
        nodeIndex,
      });
    }
  }
  return pods;
}

export function nodeName(nodeIndex: number): string {
  return `node-${nodeIndex}`;
}

export function nodeIp(nodeIndex: number, subnet: number): string {
  return `127.${subnet}.${nodeIndex + 1}.100`;
}

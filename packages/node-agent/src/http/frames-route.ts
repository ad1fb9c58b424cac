/**
 * `POST /v1/frames`: where sidecars of the former release hand in their reports, one frame each; those
 * of this one keep a stream open (frame-streams.ts) and are answered by the same rules.
 *
 * ```
 *   204 taken, and there is a way onward
 *   400 no frame, with the reason     403 the peer is not the pod it speaks for, or that is not on this node
 *   413 larger than a sidecar's frame can be     429 the table of targets is full
 *   503 no way onward now, or an end to come: a sidecar in mode `auto` publishes itself meanwhile
 * ```
 *
 * Even with 503 the newest report is kept, and sent on while there is a way: a sidecar without
 * another one has its state sent the moment there is one again. (But for what comes right after
 * this process stood still: that is refused.) The peer's address is the socket's; no header can change it.
 */
import { agentFramesPath, frameContentType } from '@leadsman/link';
import { addressBytes, WireError, writeAddress } from '@leadsman/wire';
import type { FastifyInstance } from 'fastify';
import type { TakeResult } from '../batch/target-table.ts';

/** A sidecar's frame: a report, attributes and ranks of at most 8 ports are about 28 KB. */
export const sidecarFrameBytesMax = 65_536;

export interface FramesRouteOptions {
  take(frame: Uint8Array, peer: Uint8Array | undefined): TakeResult;
  /** Whether frames can leave now. */
  forwarding(): boolean;
  verifyPeer: boolean;
}

export function addFramesRoute(server: FastifyInstance, options: FramesRouteOptions): void {
  server.addContentTypeParser(
    frameContentType,
    { parseAs: 'buffer', bodyLimit: sidecarFrameBytesMax },
    (_, body, done) => done(null, body),
  );
  server.post(agentFramesPath, { bodyLimit: sidecarFrameBytesMax }, (request, reply) => {
    if (!Buffer.isBuffer(request.body)) {
      return reply
        .code(400)
        .send(problem('content_type', `a body of ${frameContentType} is needed`));
    }
    let peer: Uint8Array | undefined;
    if (options.verifyPeer) {
      peer = addressOf(request.socket.remoteAddress);
      if (peer === undefined) {
        return reply.code(403).send(problem('wrong_peer', 'the peer has no address to compare'));
      }
    }
    const result = options.take(request.body, peer);
    if (result.status === 'taken') {
      if (options.forwarding()) return reply.code(204).send();
      return reply.code(503).send(problem('no_way_onward', 'no broker or collector answers'));
    }
    if (result.status === 'stalled') {
      return reply.code(503).send(problem('stalled', 'this agent has just stood still'));
    }
    if (result.status === 'bad_frame') {
      return reply.code(400).send(problem(result.code, 'not a usable frame'));
    }
    if (result.status === 'wrong_peer') {
      // Whoever masks addresses on the way is known by the one that it puts there.
      const seen = request.socket.remoteAddress;
      return reply
        .code(403)
        .send(problem('wrong_peer', `${seen} is not the pod that the frame speaks for`));
    }
    if (result.status === 'foreign_pod') {
      return reply
        .code(403)
        .send(problem('foreign_pod', 'the frame speaks for a pod that is not on this node'));
    }
    return reply.code(429).send(problem('full', 'no room for another target'));
  });
}

function problem(code: string, message: string) {
  return { error: { code, message } };
}

/** The address of a peer as a report has it; `undefined` for one that no report can have. */
export function addressOf(text: string | undefined): Uint8Array | undefined {
  if (text === undefined) return undefined;
  const bytes = new Uint8Array(addressBytes);
  try {
    writeAddress(text, bytes, 0);
    return bytes;
  } catch (error) {
    // A link-local address with a zone: no pod reports such a one.
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

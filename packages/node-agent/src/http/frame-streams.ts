/**
 * The streams of the node's sidecars: each frame is taken as one that was POSTed would be, and
 * answered by the same rules. The peer's address is the socket's, looked at for each frame.
 */
import type { Server } from 'node:http';
import {
  type FrameAnswer,
  type FrameStreamServer,
  type LinkLogger,
  serveFrameStreams,
} from '@leadsman/link';
import type { TakeResult } from '../batch/target-table.ts';
import { addressOf, type FramesRouteOptions, sidecarFrameBytesMax } from './frames-route.ts';

/** Peers that are named in the log; a network that masks addresses shows one or a few. */
const toldMax = 64;

/** Serves them on the port of `server`. */
export function addFrameStreams(
  server: Server,
  options: FramesRouteOptions & { logger: LinkLogger },
): FrameStreamServer {
  /** Of the peer whose frame came last: those of one chunk have the same. */
  let peerText: string | undefined;
  let peerBytes: Uint8Array | undefined;
  /** Peers that the log has named: each once, as they go on trying. */
  const told = new Set<string>();
  return serveFrameStreams(server, {
    frameBytesMax: sidecarFrameBytesMax,
    take: (frame, peer) => {
      if (!options.verifyPeer) return answerTo(options.take(frame, undefined), options);
      if (peer !== peerText) {
        peerText = peer;
        peerBytes = addressOf(peer);
      }
      if (peerBytes === undefined) return 'peer';
      const answer = answerTo(options.take(frame, peerBytes), options);
      // Whoever masks addresses on the way is known by the one that it puts there.
      if (answer === 'peer' && peer !== undefined && !told.has(peer) && told.size < toldMax) {
        told.add(peer);
        options.logger.warn({ seen: peer }, 'this peer is not the pod that its frames speak for');
      }
      return answer;
    },
  });
}

function answerTo(result: TakeResult, options: FramesRouteOptions): FrameAnswer {
  if (result.status === 'taken') return options.forwarding() ? 'accepted' : 'forward';
  if (result.status === 'stalled') return 'forward';
  const isForeign = result.status === 'wrong_peer' || result.status === 'foreign_pod';
  return isForeign ? 'peer' : 'refused';
}

/** `GET /v1/targets`: what the agent knows of its node's targets, for people. */
import {
  decodeAttributes,
  podKeyText,
  readReport,
  reasonName,
  reportFlag,
  WireError,
} from '@leadsman/wire';
import type { FastifyInstance } from 'fastify';
import type { KnownTarget } from '../batch/target.ts';

export interface TargetsRouteOptions {
  targets: ReadonlyMap<string, KnownTarget>;
  nowMs: () => number;
}

export function addTargetsRoute(server: FastifyInstance, options: TargetsRouteOptions): void {
  server.get('/v1/targets', (_, reply) => {
    const nowMs = options.nowMs();
    const targets = [...options.targets.values()].map((target) => describe(target, nowMs));
    return reply.send({ targets });
  });
}

function describe(target: KnownTarget, nowMs: number) {
  const identity = { uid: podKeyText(target.podKey), port: target.port };
  const silentMs = Math.round(nowMs - target.heardMs);
  if (target.ended) return { ...identity, state: 'ended', silentMs };
  if (target.report.bytes === undefined) return { ...identity, state: 'unreported', silentMs };
  const report = readReport(target.report.bytes);
  return {
    ...identity,
    state: 'reported',
    silentMs,
    address: report.address,
    ...namesOf(target),
    scrapedBy: (report.flags & reportFlag.byAgent) === 0 ? 'sidecar' : 'agent',
    reason: reasonName(report.reason),
    epoch: report.epoch,
    seq: report.seq,
    ageMs: Math.round(report.ageMs + nowMs - target.reportedMs),
  };
}

function namesOf(target: KnownTarget) {
  if (target.attributes.bytes === undefined) return {};
  try {
    const { podName, namespace, engine, models } = decodeAttributes(target.attributes.bytes);
    return { podName, namespace, engine, models };
  } catch (error) {
    // Its text was not looked at when the frame was taken, and is nobody's business but this.
    if (error instanceof WireError) return {};
    throw error;
  }
}

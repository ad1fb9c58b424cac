/** What the simulation asks of a picking policy. One object stands for all its replicas. */
import type { EngineGauges, EngineModel } from '@leadsman/testing';
import type { RoutingRequest } from './request.ts';

export interface Policy {
  /** Called once before all else. Only an oracle looks into the engines themselves. */
  attach?(engines: readonly EngineModel[]): void;
  /** Called every `tickMs` of simulated time, before anything else at that time. */
  tick(nowMs: number): void;
  /** A sample of a pod's gauges became usable; `measuredAtMs` is when it was taken. */
  gauges(pod: number, gauges: Readonly<EngineGauges>, measuredAtMs: number, nowMs: number): void;
  /** The pod for a request; it is sent there at once. */
  pick(request: RoutingRequest, nowMs: number): number;
  firstToken(request: RoutingRequest, pod: number, nowMs: number): void;
  finished(request: RoutingRequest, pod: number, nowMs: number): void;
}

export interface PolicyOptions {
  pods: number;
  replicas: number;
  kvCapacityTokens: number;
  /** Tokens per block of `RoutingRequest.blocks`. */
  blockTokens: number;
  seed: number;
}

/** Simulated time between two ticks: the time base of gauges, sharing and histories. */
export const tickMs = 5;

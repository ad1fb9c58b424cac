/** From the picker's flags to what one worker needs to know. */
import { BodyMode } from '@leadsman/ext-proc/body-mode';
import { defaultExchangeOptions, type ExtProcOptions } from '@leadsman/ext-proc/server/server';
import type { TlsIdentity } from '@leadsman/ext-proc/transport/http2-server';
import { defaultTransportLimits } from '@leadsman/ext-proc/transport/limits';
import type { PickerConfig } from '../config/picker-config.ts';

const bodyModes: Readonly<Record<PickerConfig['requestBodyMode'], BodyMode>> = {
  none: BodyMode.none,
  streamed: BodyMode.streamed,
  buffered: BodyMode.buffered,
  buffered_partial: BodyMode.bufferedPartial,
  full_duplex_streamed: BodyMode.fullDuplex,
};

/** A gRPC message holds the body and little more; headers are bounded by the gateway. */
const messageOverheadBytes = 1_048_576;

/** A port and the pool that calls on it are for. */
export interface PoolPort {
  port: number;
  pool: string;
}

/** Reads `9012=namespace/name`; the form was checked by the configuration. */
function parsePoolPorts(texts: readonly string[]): PoolPort[] {
  return texts.map((text) => {
    const at = text.indexOf('=');
    return { port: Number(text.slice(0, at)), pool: text.slice(at + 1) };
  });
}

/**
 * The options of a worker's server. `port` is that of the first address: 0 until the system has
 * given one to the first worker. `heldBytesMax`: what its calls may hold together.
 */
export function extProcOptionsOf(
  config: PickerConfig,
  port: number,
  tls: TlsIdentity | undefined,
  heldBytesMax: number,
): ExtProcOptions {
  const poolPorts = parsePoolPorts(config.poolPorts);
  const mode = bodyModes[config.requestBodyMode];
  return {
    listen: [port, ...poolPorts.map((entry) => entry.port)].map((listenPort) => ({
      host: config.extProcHost,
      port: listenPort,
      reusePort: true,
    })),
    tls,
    exchange: {
      ...defaultExchangeOptions,
      requestBodyMode: mode,
      bodyBytesMax: config.bodyBytesMax,
      bodyAboveMax: config.bodyAboveMax,
      decisionTimeoutMs: config.decisionTimeoutMs,
      atDecisionTimeout: config.atDecisionTimeout,
      conformance: config.conformance,
    },
    limits: {
      ...defaultTransportLimits,
      messageBytesMax: config.bodyBytesMax + messageOverheadBytes,
    },
    heldBytesMax,
    poolByPort: new Map(poolPorts.map((entry) => [entry.port, entry.pool])),
  };
}

/**
 * `grpc.health.v1` on the ext_proc port: gateways that probe the port they send traffic to must
 * find it there. Messages are so small that they are read and written by hand.
 */

import { messageHeadroomBytes } from '../protobuf/processing-response.ts';
import { ProtobufError, ProtobufReader, tagOf, WireType } from '../protobuf/reader.ts';
import { bytesField, textField, varintField } from '../protobuf/writer.ts';
import { type ExchangeHandler, type ExchangeStream, GrpcStatus } from '../transport/stream.ts';
import { type HealthState, healthServices, ServingStatus } from './health-state.ts';

export type HealthMethod = 'Check' | 'Watch' | 'List';

const methods: Readonly<Record<string, HealthMethod>> = {
  '/grpc.health.v1.Health/Check': 'Check',
  '/grpc.health.v1.Health/Watch': 'Watch',
  '/grpc.health.v1.Health/List': 'List',
};

/** The method that a call's path names; `undefined` for another service's. */
export function healthMethodOf(path: string): HealthMethod | undefined {
  return methods[path];
}

const headroom = Buffer.alloc(messageHeadroomBytes);

/** Answers one call of the health service. */
export class HealthCall implements ExchangeHandler {
  readonly #stream: ExchangeStream;
  readonly #method: HealthMethod;
  readonly #health: HealthState;
  #stopWatching: (() => void) | undefined;
  #sent: ServingStatus | -1 = -1;

  constructor(stream: ExchangeStream, method: HealthMethod, health: HealthState) {
    this.#stream = stream;
    this.#method = method;
    this.#health = health;
  }

  message(bytes: Uint8Array): void {
    if (this.#stopWatching !== undefined) return;
    let service: string;
    try {
      service = readService(bytes);
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      this.#stream.fail(GrpcStatus.invalidArgument, error.message);
      return;
    }
    if (this.#method === 'List') this.#list();
    else if (this.#method === 'Check') this.#check(service);
    else this.#watch(service);
  }

  oversized(): void {
    this.#stream.fail(GrpcStatus.resourceExhausted, 'health request too large');
  }

  drained(): void {
    // Nothing ever waits: a status is a few bytes.
  }

  halfClosed(): void {
    // A unary request ends this way; a watch goes on.
  }

  closed(): void {
    this.#stopWatching?.();
  }

  #check(service: string): void {
    const status = this.#health.status(service);
    if (status === ServingStatus.serviceUnknown) {
      this.#stream.fail(GrpcStatus.notFound, 'unknown service');
      return;
    }
    this.#stream.send(statusMessage(status));
    this.#stream.end();
  }

  #watch(service: string): void {
    const tell = (): void => {
      const status = this.#health.status(service);
      if (status === this.#sent) return;
      this.#sent = status;
      this.#stream.send(statusMessage(status));
    };
    this.#stopWatching = this.#health.watch(tell);
    tell();
  }

  #list(): void {
    const entries = healthServices.map((service) =>
      bytesField(
        1,
        textField(1, service),
        bytesField(2, varintField(1, this.#health.status(service))),
      ),
    );
    this.#stream.send(Buffer.concat([headroom, ...entries]));
    this.#stream.end();
  }
}

function statusMessage(status: ServingStatus): Buffer {
  return Buffer.concat([headroom, varintField(1, status)]);
}

function readService(bytes: Uint8Array): string {
  const reader = new ProtobufReader(bytes);
  let service = '';
  while (reader.at < bytes.length) {
    const tag = reader.varint(bytes.length);
    if (tag === tagOf(1, WireType.bytes)) {
      const to = reader.span(bytes.length);
      service = Buffer.from(bytes.subarray(reader.at, to)).toString('utf8');
      reader.at = to;
    } else {
      reader.skip(tag, bytes.length);
    }
  }
  return service;
}

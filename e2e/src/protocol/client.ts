/**
 * A scripted ext_proc client: plays the gateway message by message, so that a test can send what a
 * real gateway sends only in rare moments, or never should.
 */
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const protoFolder = fileURLToPath(new URL('../../../packages/ext-proc/proto', import.meta.url));

/** As much of a ProcessingResponse as tests look at. */
export interface Reply {
  response: string;
  request_headers?: HeadersReply;
  response_headers?: HeadersReply;
  request_body?: BodyReply;
  response_body?: BodyReply;
  request_trailers?: unknown;
  response_trailers?: unknown;
  immediate_response?: {
    status: { code: number };
    headers: Mutation;
    body: Buffer;
    grpc_status?: { status: number };
    details: string;
  };
  dynamic_metadata?: StructValue;
}
export interface Mutation {
  set_headers: {
    header: { key: string; value: string; raw_value: Buffer };
    append_action: string;
  }[];
  remove_headers: string[];
}
interface HeadersReply {
  response?: { header_mutation?: Mutation; clear_route_cache: boolean };
}
interface BodyReply {
  response?: {
    header_mutation?: Mutation;
    body_mutation?: {
      mutation: string;
      streamed_response?: {
        body: Buffer;
        end_of_stream: boolean;
        end_of_stream_without_message: boolean;
        grpc_message_compressed: boolean;
      };
    };
  };
}
interface StructValue {
  fields: Record<string, { structValue?: StructValue; stringValue?: string }>;
}

const definition = loadSync('external_processor.proto', {
  includeDirs: [protoFolder],
  keepCase: true,
  longs: Number,
  enums: String,
  oneofs: true,
  defaults: true,
});
const { envoy } = grpc.loadPackageDefinition(definition) as unknown as {
  envoy: { service: { ext_proc: { v3: { ExternalProcessor: grpc.ServiceClientConstructor } } } };
};

export type Mode =
  | 'NONE'
  | 'STREAMED'
  | 'BUFFERED'
  | 'BUFFERED_PARTIAL'
  | 'FULL_DUPLEX_STREAMED'
  | 'GRPC';

export interface ClientOptions {
  port: number;
  credentials?: grpc.ChannelCredentials;
  authority?: string;
}

export class ProtocolClient {
  readonly #client: grpc.Client;

  constructor(options: ClientOptions) {
    this.#client = new envoy.service.ext_proc.v3.ExternalProcessor(
      // A name, since TLS servers are asked for by name and never by address.
      `${options.credentials === undefined ? '127.0.0.1' : 'localhost'}:${options.port}`,
      options.credentials ?? grpc.credentials.createInsecure(),
      {
        'grpc.max_receive_message_length': 4 * 1_048_576,
        'grpc.use_local_subchannel_pool': 1,
        ...(options.authority === undefined ? {} : { 'grpc.default_authority': options.authority }),
      },
    );
  }

  /** Opens one exchange. */
  open(metadata: Record<string, string> = {}): ProtocolStream {
    const headers = new grpc.Metadata();
    for (const [name, value] of Object.entries(metadata)) headers.set(name, value);
    const process = (
      this.#client as unknown as {
        Process(metadata: grpc.Metadata): grpc.ClientDuplexStream<object, Reply>;
      }
    ).Process(headers);
    return new ProtocolStream(process);
  }

  close(): void {
    this.#client.close();
  }
}

/** How long a test waits for one reply. */
const replyDeadlineMs = 10_000;

export class ProtocolStream {
  readonly #call: grpc.ClientDuplexStream<object, Reply>;
  readonly #replies: Reply[] = [];
  #wake: (() => void) | undefined;
  #status: grpc.StatusObject | undefined;

  constructor(call: grpc.ClientDuplexStream<object, Reply>) {
    this.#call = call;
    call.on('data', (reply: Reply) => {
      this.#replies.push(reply);
      this.#wake?.();
    });
    call.on('error', () => {});
    call.on('status', (status: grpc.StatusObject) => {
      this.#status = status;
      this.#wake?.();
    });
  }

  /** Sends a ProcessingRequest as it is. */
  send(message: object): void {
    this.#call.write(message);
  }

  requestHeaders(
    headers: Record<string, string>,
    options: {
      endOfStream?: boolean;
      requestMode?: Mode;
      responseMode?: Mode;
      metadata?: Record<string, object>;
    } = {},
  ): void {
    this.send({
      request_headers: {
        headers: headerMap({ ':method': 'POST', ':path': '/v1/completions', ...headers }),
        end_of_stream: options.endOfStream ?? false,
      },
      ...(options.metadata && { metadata_context: { filter_metadata: options.metadata } }),
      ...(options.requestMode && {
        protocol_config: {
          request_body_mode: options.requestMode,
          response_body_mode: options.responseMode ?? 'NONE',
        },
      }),
    });
  }

  requestBody(body: string | Buffer, endOfStream: boolean): void {
    this.send({ request_body: { body: Buffer.from(body), end_of_stream: endOfStream } });
  }

  requestTrailers(trailers: Record<string, string> = {}): void {
    this.send({ request_trailers: { trailers: headerMap(trailers) } });
  }

  responseHeaders(headers: Record<string, string>, extra: object = {}): void {
    this.send({
      response_headers: { headers: headerMap({ ':status': '200', ...headers }) },
      ...extra,
    });
  }

  responseBody(body: string | Buffer, endOfStream: boolean): void {
    this.send({ response_body: { body: Buffer.from(body), end_of_stream: endOfStream } });
  }

  responseTrailers(trailers: Record<string, string> = {}): void {
    this.send({ response_trailers: { trailers: headerMap(trailers) } });
  }

  /** The next reply. Rejects when the call ends or nothing comes. */
  async reply(): Promise<Reply> {
    await this.#until(() => this.#replies.length > 0 || this.#status !== undefined, 'a reply');
    const reply = this.#replies.shift();
    if (reply === undefined) throw new Error(`call ended: ${JSON.stringify(this.#status)}`);
    return reply;
  }

  /** Replies that have come and were not taken. */
  get pending(): number {
    return this.#replies.length;
  }

  /** The status that the server ends the call with. */
  async status(): Promise<grpc.StatusObject> {
    await this.#until(() => this.#status !== undefined, 'the end of the call');
    return this.#status!;
  }

  halfClose(): void {
    this.#call.end();
  }

  /** Resets the stream, as gateways do. */
  reset(): void {
    this.#call.cancel();
  }

  async #until(condition: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + replyDeadlineMs;
    while (!condition()) {
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`waited in vain for ${what}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}

/** A HeaderMap as gateways send it: values in `raw_value`. */
export function headerMap(headers: Record<string, string>): object {
  return {
    headers: Object.entries(headers).map(([key, value]) => ({
      key,
      raw_value: Buffer.from(value),
    })),
  };
}

/** A Struct with one list or text, as metadata arrives. */
export function struct(fields: Record<string, string | readonly string[]>): object {
  return {
    fields: Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [
        key,
        typeof value === 'string'
          ? { stringValue: value }
          : { listValue: { values: value.map((text) => ({ stringValue: text })) } },
      ]),
    ),
  };
}

export const destinationHeader = 'x-gateway-destination-endpoint';

/** The destination in a header mutation, checked to be well-formed; undefined without one. */
export function destinationIn(mutation: Mutation | undefined): string | undefined {
  const set = mutation?.set_headers.filter((option) => option.header.key === destinationHeader);
  if (set === undefined || set.length === 0) return undefined;
  if (set.length > 1) throw new Error('the destination is set twice');
  const [option] = set;
  if (option!.header.value !== '') throw new Error('the value must stay empty beside raw_value');
  if (option!.append_action !== 'OVERWRITE_IF_EXISTS_OR_ADD') {
    throw new Error(`the destination must overwrite, not ${option!.append_action}`);
  }
  return option!.header.raw_value.toString();
}

/** The destination in dynamic metadata; undefined without any. */
export function destinationInMetadata(reply: Reply): string | undefined {
  const namespace = reply.dynamic_metadata?.fields['envoy.lb']?.structValue;
  if (namespace !== undefined && Object.keys(namespace.fields).length !== 1) {
    throw new Error('only the destination may be under envoy.lb');
  }
  return namespace?.fields[destinationHeader]?.stringValue;
}

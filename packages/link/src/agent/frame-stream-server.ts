/**
 * The agent's side of its sidecars' streams, on the port of its HTTP server.
 *
 * Bounds: streams at once, in all and of one address; bytes of a frame; time without a byte. A
 * stream beyond them is refused or ended, and counted.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  agentFramesPath,
  answerAsked,
  asksAnswer,
  type FrameAnswer,
  FrameSplitter,
  frameAnswers,
  frameStreamProtocol,
} from './frame-stream.ts';

export interface FrameStreamServerOptions {
  /** Takes a frame, which is valid during the call, from a peer's address. */
  take(frame: Uint8Array, peer: string | undefined): FrameAnswer;
  /** Larger frames end their stream, bytes. */
  frameBytesMax: number;
  /** Streams at once. */
  streamsMax?: number;
  /** Of them, those of one address: pods on the host's network share it. */
  streamsPerAddressMax?: number;
  /** A stream without a byte for this long is ended, ms: sidecars speak each second. */
  silentMs?: number;
}

export interface FrameStreamServer {
  /** Streams that are open now. */
  readonly streams: number;
  /** Streams that were refused, for want of room or as they asked for something else. */
  readonly refusedStreams: number;
  /** Streams ended by us: silent, or with bytes that are no frame. */
  readonly failedStreams: number;
  /** Ends all streams; takes no more. */
  close(): void;
}

const streamsMaxDefault = 2_048;
const streamsPerAddressMaxDefault = 64;
const silentMsDefault = 10_000;

/** Serves the streams of `server` from now on. */
export function serveFrameStreams(
  server: Server,
  options: FrameStreamServerOptions,
): FrameStreamServer {
  const streams = new FrameStreams(options);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    streams.upgrade(request, socket as Socket, head),
  );
  return streams;
}

class FrameStreams implements FrameStreamServer {
  refusedStreams = 0;
  failedStreams = 0;
  readonly #options: FrameStreamServerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #perAddress = new Map<string, number>();
  #closed = false;

  constructor(options: FrameStreamServerOptions) {
    this.#options = options;
  }

  get streams(): number {
    return this.#sockets.size;
  }

  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const peer = socket.remoteAddress;
    socket.on('error', () => socket.destroy());
    const problem = this.#problemOf(request, peer ?? '');
    if (problem !== '') {
      this.refusedStreams++;
      socket.end(`HTTP/1.1 ${problem}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    this.#add(socket, peer ?? '');
    socket.setNoDelay(true);
    socket.setTimeout(this.#options.silentMs ?? silentMsDefault, () => this.#fail(socket));
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${frameStreamProtocol}\r\n\r\n`,
    );
    const answers = new Answers();
    const splitter = new FrameSplitter(this.#options.frameBytesMax, (frame, flags) =>
      answers.add(this.#options.take(frame, peer), flags),
    );
    const read = (chunk: Buffer) => {
      try {
        splitter.push(chunk);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        this.#fail(socket);
        return;
      }
      const bytes = answers.take();
      // One whose answers pile up does not read them: it will find the newest when it does.
      if (bytes !== undefined && socket.writableLength === 0) socket.write(bytes);
    };
    socket.on('data', read);
    socket.on('end', () => socket.end());
    if (head.length > 0) read(head);
  }

  close(): void {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The status line that refuses a stream; empty when nothing is against it. */
  #problemOf(request: IncomingMessage, address: string): string {
    if (request.url !== agentFramesPath) return '404 Not Found';
    if (request.headers.upgrade !== frameStreamProtocol) return '400 Bad Request';
    const { streamsMax, streamsPerAddressMax } = this.#options;
    const ofAddress = this.#perAddress.get(address) ?? 0;
    const isFull =
      this.#sockets.size >= (streamsMax ?? streamsMaxDefault) ||
      ofAddress >= (streamsPerAddressMax ?? streamsPerAddressMaxDefault);
    return isFull || this.#closed ? '503 Service Unavailable' : '';
  }

  #add(socket: Socket, address: string): void {
    this.#sockets.add(socket);
    this.#perAddress.set(address, (this.#perAddress.get(address) ?? 0) + 1);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      const left = (this.#perAddress.get(address) ?? 1) - 1;
      if (left > 0) this.#perAddress.set(address, left);
      else this.#perAddress.delete(address);
    });
  }

  #fail(socket: Socket): void {
    this.failedStreams++;
    socket.destroy();
  }
}

/** What is to be answered to the frames of one chunk: only the latest says how things are. */
class Answers {
  #told: FrameAnswer | undefined;
  #latest: FrameAnswer | undefined;
  #isAsked = false;

  add(answer: FrameAnswer, flags: number): void {
    this.#latest = answer;
    if ((flags & asksAnswer) !== 0) this.#isAsked = true;
  }

  take(): Uint8Array | undefined {
    const latest = this.#latest;
    if (latest === undefined || (latest === this.#told && !this.#isAsked)) return undefined;
    this.#told = latest;
    const byte = frameAnswers.indexOf(latest) | (this.#isAsked ? answerAsked : 0);
    this.#isAsked = false;
    return Uint8Array.of(byte);
  }
}

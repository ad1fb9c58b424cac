/** Frames over NATS: one frame is one message, on the subject of its sender. */
import type { FrameSink, FrameSource } from '../frame-port.ts';
import type { NatsLink } from './link.ts';

/** Publishes frames on `subject`. Closing the sink leaves the link open: it may have other users. */
export function natsSink(link: NatsLink, subject: string): FrameSink {
  return {
    get frameBytesMax() {
      return link.maxPayload;
    },
    get connected() {
      return link.connected;
    },
    send: (frame) => link.publish(subject, frame),
    close: async () => undefined,
  };
}

/** Receives the frames of `subject`, which may hold wildcards. Closing it leaves the link open. */
export function natsSource(link: NatsLink, subject: string): FrameSource {
  let stop: (() => void) | undefined;
  return {
    get connected() {
      return link.connected;
    },
    start(onFrame) {
      stop ??= link.subscribe(subject, (bytes) => onFrame(bytes, link.lagMs));
    },
    close: async () => stop?.(),
  };
}

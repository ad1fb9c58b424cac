/**
 * One POST of a frame, for its status alone. Twenty a second in each sidecar, so it goes by the
 * dispatcher's own callbacks: the request call with a body stream, an abort signal and its timer
 * cost as much CPU as all the rest of the hop.
 */
import type { Dispatcher } from 'undici';

/** The answer did not come in time. */
export class PostTimeout extends Error {
  override readonly name = 'PostTimeout';
}

export interface PostOptions {
  path: string;
  contentType: string;
  /** Connecting, sending and the answer's last byte, ms. */
  timeoutMs: number;
}

/** Resolves to the status. Rejects with {@link PostTimeout} or the connection's error. */
export function postFrame(
  dispatcher: Dispatcher,
  frame: Uint8Array,
  options: PostOptions,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const handler = new StatusHandler(resolve, reject, options.timeoutMs);
    const headers = { 'content-type': options.contentType };
    dispatcher.dispatch({ method: 'POST', path: options.path, headers, body: frame }, handler);
  });
}

class StatusHandler implements Dispatcher.DispatchHandler {
  readonly #resolve: (status: number) => void;
  readonly #reject: (error: Error) => void;
  readonly #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #timeout: PostTimeout | undefined;
  #status = 0;

  constructor(
    resolve: (status: number) => void,
    reject: (error: Error) => void,
    timeoutMs: number,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => {
      this.#timeout = new PostTimeout(`no answer within ${timeoutMs} ms`);
      this.#controller?.abort(this.#timeout);
      reject(this.#timeout);
    }, timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It waited for a connection for too long: the frame is old by now.
    if (this.#timeout !== undefined) controller.abort(this.#timeout);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(): void {}

  onResponseEnd(): void {
    clearTimeout(this.#timer);
    this.#resolve(this.#status);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.#timer);
    this.#reject(error);
  }
}

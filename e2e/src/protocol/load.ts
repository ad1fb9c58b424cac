/** Many exchanges on few connections, as fast as the server answers, with little work per call. */
import type { ClientHttp2Session } from 'node:http2';
import { framed, framedHeaders } from './messages.ts';
import { processPath } from './raw-call.ts';

const headers = {
  ':method': 'POST',
  ':path': processPath,
  'content-type': 'application/grpc',
  te: 'trailers',
};
const request = framedHeaders('');
const response = framed({ response_headers: { headers: {}, end_of_stream: true } });

/**
 * How an exchange is ended:
 * - `reset-early`: just after it was opened (in the same tick, Node's own client would abort the
 *   process: it miscounts the memory of a request that is closed before it was sent)
 * - `reset`: when the pick has come
 * - `complete`: by the server, after the response's end
 */
export type Ending = 'reset-early' | 'reset' | 'complete';

export interface LoadResult {
  exchanges: number;
  /** Exchanges that did not get what they should have. */
  failed: number;
}

/** Runs `total` exchanges, `concurrency` at a time, their endings in turn. */
export function drive(
  session: ClientHttp2Session,
  load: { total: number; concurrency: number; endings: readonly Ending[] },
): Promise<LoadResult> {
  return new Promise((resolve) => {
    let started = 0;
    let ended = 0;
    let failed = 0;
    function next(): void {
      if (started === load.total) return;
      const ending = load.endings[started++ % load.endings.length]!;
      const stream = session.request(headers);
      let answered = false;
      stream.on('error', () => {});
      stream.on('data', () => {
        if (answered) return;
        answered = true;
        if (ending === 'reset') stream.close(8);
        else if (ending === 'complete') stream.write(response);
      });
      stream.on('close', () => {
        if (!answered && ending !== 'reset-early') failed++;
        ended++;
        if (ended === load.total) resolve({ exchanges: ended, failed });
        else next();
      });
      stream.write(request);
      if (ending === 'reset-early') setImmediate(() => stream.close(8));
    }
    for (let i = 0; i < load.concurrency; i++) next();
  });
}

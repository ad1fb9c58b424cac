/**
 * Sends requests at a fixed rate whether or not the earlier ones have been answered, and times each
 * from the moment it was due: a slow answer delays no other, and hides none.
 */
import { Pool } from 'undici';

export interface Latencies {
  sent: number;
  failed: number;
  /** ms, ascending. */
  sortedMs: Float64Array;
}

const body = JSON.stringify({
  model: 'bench',
  messages: [{ role: 'user', content: 'word '.repeat(190) }],
});

export async function sendAtRate(
  url: string,
  path: string,
  load: { perSecond: number; seconds: number },
): Promise<Latencies> {
  const pool = new Pool(url, { connections: 128 });
  const total = Math.round(load.perSecond * load.seconds);
  const latencies: number[] = [];
  let failed = 0;
  const pending: Promise<void>[] = [];
  const begin = performance.now();
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.ceil(((performance.now() - begin) * load.perSecond) / 1_000));
    for (; sent < due; sent++) {
      pending.push(one(begin + (sent * 1_000) / load.perSecond));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(pending);
  await pool.destroy();
  return { sent: total, failed, sortedMs: Float64Array.from(latencies).sort() };

  async function one(dueMs: number): Promise<void> {
    try {
      const response = await pool.request({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json' },
        body,
      });
      await response.body.dump();
      if (response.statusCode !== 200) failed++;
    } catch {
      failed++;
    }
    latencies.push(performance.now() - dueMs);
  }
}

/**
 * Sleep as vLLM states it: one series per rank and state, 1 for the state the rank is in. A rank
 * whose series are all 0 is paused (`POST /sleep?level=0`) and answers no more than one that sleeps.
 * An endpoint sleeps only if every rank does; a rank of which nothing is known is awake.
 */
import { LabelCursor } from '../exposition/label-cursor.ts';
import type { Samples } from '../exposition/samples.ts';
import type { CompiledProfile } from './compile.ts';
import type { Reading } from './reading.ts';

const cursor = new LabelCursor();

export function applySleep(compiled: CompiledProfile, samples: Samples, reading: Reading): void {
  const { sleep, rankLabel } = compiled.profile;
  if (sleep === undefined) return;
  const awake = new Map<number, boolean>();
  for (let i = 0; i < samples.count; i++) {
    if (!compiled.sleepNames.includes(samples.name[i] as number)) continue;
    let rank = 0;
    let isAwakeState = false;
    cursor.start(samples, samples.set[i] as number);
    while (cursor.next()) {
      if (rankLabel !== undefined && cursor.keyIs(rankLabel)) rank = Math.max(0, cursor.integer());
      else if (cursor.keyIs(sleep.stateLabel)) isAwakeState = cursor.value() === sleep.awake;
    }
    const active = (samples.value[i] as number) >= 1;
    // The awake state wins over stale zeros and ones of other processes.
    awake.set(rank, (active && isAwakeState) || awake.get(rank) === true);
  }
  reading.sleeping =
    awake.size > 0 && awake.size >= reading.engineRanks && ![...awake.values()].includes(true);
}

/**
 * LoRA adapters as vLLM states them: one series per combination of adapter lists, never removed,
 * whose value is the time at which it was true. The newest is the one with the largest value: not
 * the last line, and no union. An empty list is the empty set; an adapter that is absent was not
 * seen, which does not mean that it is not loaded.
 */
import { attributeValuesMax, metric } from '@leadsman/wire';
import { LabelCursor } from '../exposition/label-cursor.ts';
import type { Samples } from '../exposition/samples.ts';
import type { CompiledProfile } from './compile.ts';
import { finding, type Reading } from './reading.ts';
import { soundValue } from './unit.ts';

const cursor = new LabelCursor();

/** Notes the newest adapter sets of the page in `reading`; leaves them unknown without any. */
export function applyLora(compiled: CompiledProfile, samples: Samples, reading: Reading): void {
  const { lora } = compiled.profile;
  if (lora === undefined) return;
  // The newest of all may be the one that is missing.
  if (compiled.loraNames.some((name) => samples.lost[name] !== 0)) {
    reading.findings[metric.loraSlotsMax] = finding.lost;
    reading.families[metric.loraSlotsMax] = lora.family;
    return;
  }
  const newest = newestSample(compiled.loraNames, samples);
  if (newest < 0) return;
  cursor.start(samples, samples.set[newest] as number);
  while (cursor.next()) {
    if (cursor.keyIs(lora.runningLabel)) reading.loraRunning = adapters(cursor.value());
    else if (cursor.keyIs(lora.waitingLabel)) reading.loraWaiting = adapters(cursor.value());
    else if (cursor.keyIs(lora.slotsLabel)) {
      const slots = soundValue('size', cursor.number());
      reading.metrics[metric.loraSlotsMax] = slots;
      const known = Number.isNaN(slots) ? finding.invalid : finding.known;
      reading.findings[metric.loraSlotsMax] = known;
      reading.families[metric.loraSlotsMax] = lora.family;
    }
  }
}

/** Of each spelling of the name the page has one sample at most, its newest. */
function newestSample(names: readonly number[], samples: Samples): number {
  let newest = -1;
  let newestAt = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < samples.count; i++) {
    if (!names.includes(samples.name[i] as number)) continue;
    const setAt = samples.value[i] as number;
    if (setAt > newestAt) {
      newestAt = setAt;
      newest = i;
    }
  }
  return newest;
}

function adapters(list: string): string[] {
  const names = new Set<string>();
  for (const part of list.split(',')) {
    const name = part.trim();
    if (name !== '' && names.size < attributeValuesMax) names.add(name);
  }
  return [...names];
}

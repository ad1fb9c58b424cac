import { decodeAttributes, FrameReader, frameKind, metric, recordType } from '@leadsman/wire';
import { describe, expect, it } from 'vitest';
import { FrameComposer } from './frame-composer.ts';
import { createTarget, pageOf } from './targets.fixture.ts';

const typeNames = Object.fromEntries(
  Object.entries(recordType).map(([name, type]) => [type, name]),
);

function sender() {
  return { id: new Uint8Array(16).fill(7), epoch: 100 };
}

function read(frame: Uint8Array) {
  const reader = new FrameReader();
  reader.load(frame);
  const records: { type: string; payload: Uint8Array; running: number }[] = [];
  while (reader.next()) {
    records.push({
      type: typeNames[reader.type] ?? '?',
      payload: reader.bytes.slice(reader.offset, reader.offset + reader.length),
      running: reader.view.getFloat64(reader.offset + 72 + metric.runningRequests * 8, true),
    });
  }
  const { kind, seq, part, parts, senderEpoch } = reader;
  return { kind, seq, part, parts, senderEpoch, records, types: records.map(({ type }) => type) };
}

describe('FrameComposer', () => {
  it('sends attributes with the first report, and again only when they change', () => {
    const { target, read: scrape } = createTarget(8_000);
    const composer = new FrameComposer([target], sender());
    scrape(pageOf(1));
    const first = composer.changes([target], 5).map(read);
    expect(first).toHaveLength(1);
    expect(first[0]?.types).toEqual(['report', 'attributes']);
    expect(first[0]?.kind).toBe(frameKind.changes);
    const attributes = decodeAttributes(first[0]?.records[1]?.payload as Uint8Array);
    expect(attributes).toMatchObject({ podName: 'llama-0', engine: 'vllm', models: ['m'] });
    scrape(pageOf(1, 2));
    const second = composer.changes([target], 6).map(read);
    expect(second[0]?.types).toEqual(['report']);
    expect(second[0]?.records[0]?.running).toBe(2);
    expect(second[0]?.seq).toBe(2);
  });

  it('puts all that is known of every target into a keyframe, reports first', () => {
    const one = createTarget(8_000);
    const two = createTarget(8_001);
    one.read(pageOf(2));
    two.read(pageOf(1));
    const composer = new FrameComposer([one.target, two.target], sender());
    const frames = composer.keyframe(5).map(read);
    expect(frames).toHaveLength(1);
    expect(frames[0]?.kind).toBe(frameKind.keyframe);
    expect(frames[0]?.types).toEqual(['report', 'attributes', 'ranks', 'report', 'attributes']);
    const both = composer.changes([one.target, two.target], 6).map(read);
    expect(both.map(({ types }) => types)).toEqual([['report', 'report']]);
  });

  it('splits what does not fit one frame, and numbers the parts', () => {
    const hands = Array.from({ length: 16 }, (_, i) => createTarget(8_000 + i));
    for (const hand of hands) hand.read(pageOf(64));
    const composer = new FrameComposer(
      hands.map(({ target }) => target),
      sender(),
    );
    composer.limit(4_096);
    const frames = composer.keyframe(5);
    expect(frames.length).toBeGreaterThan(4);
    for (const frame of frames) expect(frame.length).toBeLessThanOrEqual(4_096);
    const parts = frames.map(read);
    expect(parts.map(({ part }) => part)).toEqual(parts.map((_, i) => i));
    expect(parts.every(({ parts: all }) => all === frames.length)).toBe(true);
    expect(parts.flatMap(({ types }) => types).filter((type) => type === 'report')).toHaveLength(
      16,
    );
    expect(parts[0]?.senderEpoch).toBe(101);
    expect(composer.droppedRecords).toBe(0);
  });

  it('drops and counts a record that no frame can take', () => {
    const { target, read: scrape } = createTarget(8_000);
    scrape(pageOf(64));
    const composer = new FrameComposer([target], sender());
    composer.limit(512);
    const types = composer.keyframe(5).flatMap((frame) => read(frame).types);
    expect(types).toEqual(['report', 'attributes']);
    expect(composer.droppedRecords).toBe(1);
    composer.limit(100);
    composer.limit(1_000_000);
    expect(composer.keyframe(5)[0]?.length).toBeLessThanOrEqual(512);
  });

  it('ends with a word for each target', () => {
    const one = createTarget(8_000);
    const two = createTarget(8_001);
    const composer = new FrameComposer([one.target, two.target], sender());
    expect(composer.gone().flatMap((frame) => read(frame).types)).toEqual(['gone', 'gone']);
  });
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FrameSplitter, streamed } from './frame-stream.ts';

it('gives each frame once, whole and in order, wherever chunks end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.nat(3)), { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 }),
      (frames, cuts) => {
        const got: [number[], number][] = [];
        const splitter = new FrameSplitter(40, (frame, flags) => got.push([[...frame], flags]));
        const bytes = Buffer.concat(frames.map(([frame, flags]) => streamed(frame, flags)));
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const end = at + (cuts[i % cuts.length] as number);
          splitter.push(bytes.subarray(at, end));
          at = end;
        }
        expect(got).toEqual(frames.map(([frame, flags]) => [[...frame], flags]));
      },
    ),
  );
});

it('refuses a frame beyond its bound before any of it is kept', () => {
  const splitter = new FrameSplitter(10, () => undefined);
  const head = streamed(new Uint8Array(11), 0).subarray(0, 8);
  expect(() => splitter.push(head)).toThrow(RangeError);
});

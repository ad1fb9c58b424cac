/** Frames of reports and ledger messages of replicas, and the stream that carries frames. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { FrameSplitter, streamed } from '../../packages/link/src/agent/frame-stream.ts';
import { decodeAttributes } from '../../packages/wire/src/attributes.ts';
import { decodeGone } from '../../packages/wire/src/gone.ts';
import {
  FrameReader,
  LedgerReader,
  readReport,
  recordType,
  WireError,
} from '../../packages/wire/src/index.ts';
import { decodeRanks } from '../../packages/wire/src/ranks.ts';
import { type Check, decodesOr, type FuzzTarget, pieces } from './target.ts';

const folder = new URL('../../packages/wire/src/golden/', import.meta.url);
const golden = readdirSync(folder)
  .filter((file) => file.endsWith('.bin'))
  .map((file) => Uint8Array.from(readFileSync(new URL(file, folder))));

function readFrame(input: Uint8Array): void {
  const reader = new FrameReader();
  reader.load(input);
  while (reader.next()) {
    const end = reader.offset + reader.length;
    // A frame that loads was checked whole: no record may reach beyond it.
    assert.ok(end <= input.length, 'a record beyond the end of its frame');
    const payload = reader.bytes.subarray(reader.offset, end);
    if (reader.type === recordType.report) readReport(payload);
    if (reader.type === recordType.attributes) decodeAttributes(payload);
    if (reader.type === recordType.ranks) decodeRanks(payload);
    if (reader.type === recordType.gone) decodeGone(payload);
  }
}

function readLedger(input: Uint8Array): void {
  const reader = new LedgerReader();
  reader.load(input);
  while (reader.next()) assert.ok(reader.bytes.length <= input.length);
}

/** A stream of two frames, in pieces, is the two frames. */
function splitStream(input: Uint8Array): void {
  const frames: Buffer[] = [];
  const splitter = new FrameSplitter(input.length, (frame) => frames.push(Buffer.from(frame)));
  for (const piece of pieces(Buffer.concat([streamed(input, 0), streamed(input, 1)]))) {
    splitter.push(piece);
  }
  assert.deepEqual(frames, [Buffer.from(input), Buffer.from(input)]);
}

function check(readAny: Check, input: Uint8Array): void {
  decodesOr(WireError, () => readAny(input));
  decodesOr(WireError, () => readLedger(input));
  splitStream(input);
}

export const frames: FuzzTarget = {
  name: 'frames',
  sound: fc.constantFrom(...golden),
  tokens: golden.map((each) => each.subarray(0, 48)),
  check: (input) => check(readFrame, input),
  planted: {
    what: 'a record is read without a look at the length it states',
    check: (input) =>
      check((bytes) => {
        // The first record behind the header, its length taken on trust.
        const header = bytes.length > 8 ? new DataView(bytes.buffer).getUint16(6, true) : 0;
        if (header > 0 && header < 200) new DataView(bytes.buffer).getUint32(header + 4, true);
        readFrame(bytes);
      }, input),
  },
};

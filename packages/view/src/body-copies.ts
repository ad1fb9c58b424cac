/** A reader's private copies of slot bodies, under each type that their fields are read by. */
import { bodyBytes } from './layout.ts';

export class BodyCopies {
  readonly floats: Float64Array;
  readonly ints: Int32Array;
  readonly bytes: Uint8Array;

  constructor(slots: number) {
    const buffer = new ArrayBuffer(slots * bodyBytes);
    this.floats = new Float64Array(buffer);
    this.ints = new Int32Array(buffer);
    this.bytes = new Uint8Array(buffer);
  }
}

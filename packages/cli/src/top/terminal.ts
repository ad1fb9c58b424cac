/**
 * A screen that is written over in place. Only lines that changed are sent, and nothing while the
 * last frame is still on its way: over a slow SSH session it skips frames instead of falling behind.
 */
export interface TerminalInput {
  setRawMode(on: boolean): unknown;
  setEncoding(encoding: 'utf8'): unknown;
  resume(): unknown;
  pause(): unknown;
  on(event: 'data', listener: (keys: string) => void): unknown;
  off(event: 'data', listener: (keys: string) => void): unknown;
}

export interface TerminalOutput {
  columns: number;
  rows: number;
  write(text: string): boolean;
  on(event: 'resize' | 'drain', listener: () => void): unknown;
  off(event: 'resize' | 'drain', listener: () => void): unknown;
}

/** Another screen, so that what was on this one comes back at the end; the cursor is hidden. */
const enter = '\x1b[?1049h\x1b[?25l\x1b[2J';
const leave = '\x1b[?25h\x1b[?1049l';

export class Terminal {
  readonly #input: TerminalInput;
  readonly #output: TerminalOutput;
  readonly #onKeys: (keys: string) => void;
  readonly #onResize: () => void;
  #shown: readonly string[] = [];
  #busy = false;
  readonly #drained = (): void => {
    this.#busy = false;
  };
  readonly #resized = (): void => {
    this.#shown = [];
    this.#output.write('\x1b[2J');
    this.#onResize();
  };

  constructor(
    input: TerminalInput,
    output: TerminalOutput,
    events: { onKeys: (keys: string) => void; onResize: () => void },
  ) {
    this.#input = input;
    this.#output = output;
    this.#onKeys = events.onKeys;
    this.#onResize = events.onResize;
    input.setRawMode(true);
    input.setEncoding('utf8');
    input.on('data', this.#onKeys);
    input.resume();
    output.on('resize', this.#resized);
    output.on('drain', this.#drained);
    output.write(enter);
  }

  get columns(): number {
    return this.#output.columns;
  }

  get rows(): number {
    return this.#output.rows;
  }

  show(lines: readonly string[]): void {
    if (this.#busy) return;
    let text = '';
    const rows = Math.max(lines.length, this.#shown.length);
    for (let row = 0; row < rows; row++) {
      const line = lines[row] ?? '';
      if (line !== this.#shown[row]) text += `\x1b[${row + 1};1H${line}\x1b[K`;
    }
    this.#shown = [...lines];
    if (text !== '') this.#busy = !this.#output.write(text);
  }

  /** Gives the screen back. */
  close(): void {
    this.#input.off('data', this.#onKeys);
    this.#output.off('resize', this.#resized);
    this.#output.off('drain', this.#drained);
    this.#input.setRawMode(false);
    this.#input.pause();
    this.#output.write(leave);
  }
}

/**
 * Where progress goes: a table that is redrawn in place on a terminal, else plain lines.
 */
import { createPaint, type Paint } from './paint.ts';
import { renderTable, type TableState } from './table.ts';

export interface Screen {
  readonly paint: Paint;
  /** One step of starting or stopping. */
  step(text: string): void;
  /** The present state; may be called often. */
  show(state: TableState): void;
  /** Lets what is shown stand; what follows is printed below. */
  settle(): void;
}

/** Between two plain lines about running traffic. */
const plainIntervalMs = 2_000;

/** `stream` decides: a terminal gets the table. */
export function createScreen(stream: NodeJS.WriteStream, now: () => number): Screen {
  return stream.isTTY ? terminalScreen(stream) : plainScreen(stream, now);
}

function terminalScreen(stream: NodeJS.WriteStream): Screen {
  const paint = createPaint(true);
  let drawn = 0;
  return {
    paint,
    step: (text) => stream.write(`${paint.dim(`… ${text}`)}\n`),
    show: (state) => {
      const lines = renderTable(state, paint);
      // Cursor up over the last frame, then each line cleared as it is written: no flicker.
      const up = drawn > 0 ? `\x1b[${drawn}A` : '\n';
      // Without wrapping, a narrow terminal cuts lines off instead of breaking the picture.
      const frame = lines.map((line) => `\x1b[2K${line}\n`).join('');
      stream.write(`\x1b[?25l\x1b[?7l${up}${frame}`);
      drawn = lines.length;
    },
    settle: () => {
      drawn = 0;
      stream.write('\x1b[?7h\x1b[?25h');
    },
  };
}

function plainScreen(stream: NodeJS.WriteStream, now: () => number): Screen {
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    paint: createPaint(false),
    step: (text) => stream.write(`${text}\n`),
    show: (state) => {
      if (now() - lastMs < plainIntervalMs) return;
      lastMs = now();
      const picks = state.rows.map((row) => row.picks).join(' ');
      stream.write(
        `${state.strategy}: ${state.done}/${state.sent} answered, ${state.failed} failed, ` +
          `picks per engine ${picks}\n`,
      );
    },
    settle: () => {},
  };
}

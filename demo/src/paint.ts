/** Colours and bars of the terminal table. Without colour every text stays readable. */

export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
  magenta(text: string): string;
}

export function createPaint(colours: boolean): Paint {
  const code = (on: number, off: number) => (text: string) =>
    colours ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    red: code(31, 39),
    green: code(32, 39),
    yellow: code(33, 39),
    cyan: code(36, 39),
    magenta: code(35, 39),
  };
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** `ratio` (bounded to 0..1) of `width` cells, exact to an eighth of a cell, padded to `width`. */
export function bar(ratio: number, width: number): string {
  const units = Math.round(Math.min(1, Math.max(0, ratio)) * width * 8);
  const text = '█'.repeat(Math.floor(units / 8)) + eighths[units % 8]!;
  return text.padEnd(width);
}

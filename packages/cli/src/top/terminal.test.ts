import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { Terminal } from './terminal.ts';

class FakeInput extends EventEmitter {
  raw = false;
  setRawMode(on: boolean): void {
    this.raw = on;
  }
  setEncoding(): void {}
  resume(): void {}
  pause(): void {}
}

class FakeOutput extends EventEmitter {
  columns = 80;
  rows = 24;
  text = '';
  isFull = false;
  write(text: string): boolean {
    this.text += text;
    return !this.isFull;
  }
}

function open() {
  const input = new FakeInput();
  const output = new FakeOutput();
  const terminal = new Terminal(input, output, { onKeys: () => {}, onResize: () => {} });
  const sent = () => {
    const { text } = output;
    output.text = '';
    return text;
  };
  sent();
  return { input, output, terminal, sent };
}

it('sends only lines that changed', () => {
  const { terminal, sent } = open();
  terminal.show(['a', 'b', 'c']);
  expect(sent()).toBe('\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K\x1b[3;1Hc\x1b[K');
  terminal.show(['a', 'x']);
  expect(sent()).toBe('\x1b[2;1Hx\x1b[K\x1b[3;1H\x1b[K');
  terminal.show(['a', 'x']);
  expect(sent()).toBe('');
});

it('skips frames while the connection is full', () => {
  const { terminal, output, sent } = open();
  output.isFull = true;
  terminal.show(['a']);
  sent();
  terminal.show(['b']);
  expect(sent()).toBe('');
  output.emit('drain');
  terminal.show(['c']);
  expect(sent()).toBe('\x1b[1;1Hc\x1b[K');
});

it('writes everything anew after a change of size', () => {
  const { terminal, output, sent } = open();
  terminal.show(['a']);
  output.emit('resize');
  sent();
  terminal.show(['a']);
  expect(sent()).toContain('a');
});

it('gives the screen, the cursor and the keys back', () => {
  const { terminal, input, output, sent } = open();
  expect(input.raw).toBe(true);
  terminal.close();
  expect(sent()).toBe('\x1b[?25h\x1b[?1049l');
  expect(input.raw).toBe(false);
  expect(input.listenerCount('data') + output.listenerCount('resize')).toBe(0);
});

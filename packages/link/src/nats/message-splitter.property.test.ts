/**
 * However a connection's bytes are cut into chunks: every plain message is told once, in order and
 * whole, and all the rest reaches the library byte for byte.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MessageSplitter } from './message-splitter.ts';

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

const subject = fc.stringMatching(/^[a-zA-Z0-9_=-]{1,12}(\.[a-zA-Z0-9_=-]{1,12}){0,3}$/);
const payload = fc.uint8Array({ maxLength: 60 }).map(latin1);
const sid = fc.integer({ min: 1, max: 99_999 });

const unit = fc.oneof(
  { weight: 4, arbitrary: fc.record({ subject, sid, payload, reply: fc.option(subject) }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'PING\r\n',
      'PONG\r\n',
      "-ERR 'x'\r\n",
      'INFO {"a":1}\r\n',
      '+OK\r\n',
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ subject, sid, payload })
      .map(({ subject: to, sid: number, payload: body }) => {
        const headers = 'NATS/1.0\r\nA: b\r\n\r\n';
        const sizes = `${headers.length} ${headers.length + body.length}`;
        return `HMSG ${to} ${number} ${sizes}\r\n${headers}${body}\r\n`;
      }),
  },
);

it('takes out messages and leaves the rest, wherever chunks end', () => {
  fc.assert(
    fc.property(
      fc.array(unit, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }),
      (units, cuts) => {
        const wanted: string[] = [];
        let rest = '';
        let stream = '';
        for (const one of units) {
          if (typeof one === 'string') {
            rest += one;
            stream += one;
          } else {
            wanted.push(`${one.sid} ${one.subject} ${one.payload}`);
            const reply = one.reply === null ? '' : `${one.reply} `;
            stream += `MSG ${one.subject} ${one.sid} ${reply}${one.payload.length}\r\n`;
            stream += `${one.payload}\r\n`;
          }
        }
        const got: string[] = [];
        let left = '';
        const splitter = new MessageSplitter(
          (number, to, body) => got.push(`${number} ${latin1(to)} ${latin1(body)}`),
          (bytes) => {
            left += latin1(bytes);
          },
        );
        const bytes = Buffer.from(stream, 'latin1');
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const end = at + (cuts[i % cuts.length] as number);
          splitter.push(bytes.subarray(at, end));
          at = end;
        }
        expect(got).toEqual(wanted);
        expect(left).toBe(rest);
      },
    ),
  );
});

it('does not wait for ever for the end of a line', () => {
  const splitter = new MessageSplitter(
    () => undefined,
    () => undefined,
  );
  const push = () => {
    for (let i = 0; i < 100; i++) splitter.push(Buffer.alloc(1_000, 'x'));
  };
  expect(push).toThrow(RangeError);
});

/** What a splitter makes of a stream: the messages' number, or that it refuses it. */
function messagesIn(stream: string): number | 'refused' {
  let messages = 0;
  const splitter = new MessageSplitter(
    () => messages++,
    () => undefined,
  );
  try {
    splitter.push(Buffer.from(stream, 'latin1'));
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    return 'refused';
  }
  return messages;
}

it.each([
  ['a size below 0', 'MSG a 1 -20\r\nx\r\n'],
  ['a size that is no number', 'MSG a 1 x\r\nx\r\n'],
  ['no size', 'MSG a 1 \r\nx\r\n'],
  ['no number of its subscription', 'MSG a 1\r\nx\r\n'],
  ['neither', 'MSG 1\r\nx\r\n'],
  ['nothing at all', `M\r\n${'x'.repeat(64)}`],
])('refuses a message line with %s', (_, stream) => {
  expect(messagesIn(stream)).toBe('refused');
});

it('comes to an end with whatever bytes', () => {
  const pieces = ['MSG ', 'HMSG ', 'M', ' ', '-', '9', '1', 'a', '\r\n', '\n', 'PING\r\n'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 30 }), (parts) => {
      const messages = messagesIn(parts.join(''));
      if (messages !== 'refused') expect(messages).toBeLessThanOrEqual(parts.length);
    }),
    { numRuns: 1_000 },
  );
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WireError } from './error.ts';
import { allFramesSubject, nodeFramesSubject, subjectToken } from './subject.ts';

describe('subjects', () => {
  it('keep a node name with dots in one token', () => {
    expect(nodeFramesSubject('leadsman', 'ip-10-0-0-1.eu.internal')).toBe(
      'leadsman.v1.frames.node.ip-10-0-0-1=2Eeu=2Einternal',
    );
    expect(allFramesSubject('team.leadsman')).toBe('team.leadsman.v1.frames.>');
  });

  it('make one token of any name, and never the same one of two names', () => {
    const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(names, names, (a, b) => {
        expect(subjectToken(a)).toMatch(/^[A-Za-z0-9_=-]+$/);
        // Lone surrogates all encode as U+FFFD, so only well-formed text is told apart.
        if (a.isWellFormed() && b.isWellFormed()) {
          expect(subjectToken(a) === subjectToken(b)).toBe(a === b);
        }
      }),
    );
  });

  it('refuse an empty and an endless name', () => {
    expect(() => subjectToken('')).toThrow(WireError);
    expect(() => subjectToken('x'.repeat(256))).toThrow(WireError);
  });
});

/**
 * NATS subjects. `<prefix>.v1.<what>.<token>`, where the prefix is `leadsman` unless several
 * installations share an account.
 *
 * A token may not hold a dot, a wildcard, blanks or control characters (NATS protocol, subject
 * rules). Letters, digits, `-` and `_` stand for themselves, every other byte of the UTF-8 text
 * becomes `=XX`. That is reversible, and no two names meet in one token.
 */
import { WireError, wireErrorCode } from './error.ts';
import { subjectTokenBytesMax } from './limits.ts';

const utf8 = new TextEncoder();
const plain = /^[A-Za-z0-9_-]$/;

/** Encodes any node, pod or picker name. Throws {@link WireError} when empty or too long. */
export function subjectToken(name: string): string {
  let token = '';
  for (const byte of utf8.encode(name)) {
    const char = String.fromCharCode(byte);
    token += plain.test(char) ? char : `=${byte.toString(16).padStart(2, '0').toUpperCase()}`;
  }
  if (token === '' || token.length > subjectTokenBytesMax) {
    throw new WireError(wireErrorCode.bounds, `no subject token can be made of "${name}"`);
  }
  return token;
}

/** Where an agent publishes the frames of its node. */
export function nodeFramesSubject(prefix: string, node: string): string {
  return `${prefix}.v1.frames.node.${subjectToken(node)}`;
}

/** Where a sidecar publishes for itself (pod exporter). */
export function podFramesSubject(prefix: string, pod: string): string {
  return `${prefix}.v1.frames.pod.${subjectToken(pod)}`;
}

/** What a collector subscribes to: the frames of every node and pod. */
export function allFramesSubject(prefix: string): string {
  return `${prefix}.v1.frames.>`;
}

/** Where a picker replica tells the others of its ledger and routing history. */
export function pickerSubject(prefix: string, replica: string): string {
  return `${prefix}.v1.picker.${subjectToken(replica)}`;
}

/** What a picker replica subscribes to. */
export function allPickersSubject(prefix: string): string {
  return `${prefix}.v1.picker.*`;
}

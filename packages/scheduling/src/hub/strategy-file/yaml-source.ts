/**
 * A YAML file whose values remember their lines, so that a complaint about `pools.x.filters[2]`
 * can say where that is.
 */
import { isMap, isScalar, LineCounter, type Node, parseDocument } from 'yaml';

export type YamlPath = readonly (string | number)[];

export class YamlSource {
  /** The file's content as plain data; `undefined` when it is no YAML. */
  readonly data: unknown;
  /** Faults of the YAML itself, each with its line. */
  readonly problems: readonly { line: number; message: string }[];
  readonly #document: ReturnType<typeof parseDocument>;
  readonly #lines = new LineCounter();

  constructor(text: string) {
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    this.problems = this.#document.errors.map((error) => ({
      line: this.#lines.linePos(error.pos[0]).line,
      message: error.message,
    }));
    this.data = this.problems.length === 0 ? this.#read() : undefined;
  }

  /** The line (from 1) of a value, or of the closest enclosing one that exists. */
  lineOf(path: YamlPath): number {
    for (let length = path.length; length > 0; length--) {
      const line = this.#lineAt(path.slice(0, length));
      if (line !== undefined) return line;
    }
    return 1;
  }

  /** Aliases can expand to any size; the parser's limit on that throws here. */
  #read(): unknown {
    try {
      return this.#document.toJS({ maxAliasCount: 100 });
    } catch (error) {
      return { unreadable: error instanceof Error ? error.message : String(error) };
    }
  }

  #lineAt(path: YamlPath): number | undefined {
    const key = path.at(-1);
    const parent = path.length === 1 ? this.#document.contents : this.#nodeAt(path.slice(0, -1));
    if (isMap(parent)) {
      const pair = parent.items.find((item) => isScalar(item.key) && item.key.value === key);
      if (pair !== undefined) return this.#lineOfNode(pair.key as Node);
    }
    return this.#lineOfNode(this.#nodeAt(path));
  }

  #nodeAt(path: YamlPath): Node | undefined {
    return this.#document.getIn([...path], true) as Node | undefined;
  }

  #lineOfNode(node: Node | null | undefined): number | undefined {
    const start = node?.range?.[0];
    return start === undefined ? undefined : this.#lines.linePos(start).line;
  }
}

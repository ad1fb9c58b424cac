/**
 * The sample names a reader wants, and the families they belong to: a family called `a` has the
 * samples `a`, `a_sum`, `a_count` and, in OpenMetrics, `a_total`.
 */
import { NameTable } from './name-table.ts';

/** Bound of one name; the longest metric name of any known engine has 58 bytes. */
const nameBytesMax = 256;

/** What a sample's name may have behind its family's. */
export const sampleSuffixes: readonly string[] = [
  '_sum',
  '_count',
  '_total',
  '_bucket',
  '_created',
  '_info',
  '_gsum',
  '_gcount',
];

export class FamilyNames {
  readonly names: readonly string[];
  readonly samples: NameTable;
  readonly families: NameTable;
  readonly #newestOnly: ReadonlySet<number>;

  /**
   * `names` are sample names, so a histogram's `_sum` and `_count` are names of their own. Of those
   * in `newestOnly`, whose value is the time at which they were true, only the newest sample counts.
   * Throws RangeError when one is no metric name.
   */
  constructor(names: readonly string[], newestOnly: readonly string[] = []) {
    const families = new Set<string>();
    for (const name of names) {
      if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name) || name.length > nameBytesMax) {
        throw new RangeError(`not a metric name: ${JSON.stringify(name)}`);
      }
      families.add(name);
      for (const suffix of sampleSuffixes) {
        if (name.endsWith(suffix) && name !== suffix) families.add(name.slice(0, -suffix.length));
      }
    }
    this.names = names;
    this.#newestOnly = new Set(newestOnly.map((name) => names.indexOf(name)));
    this.samples = new NameTable(names);
    this.families = new NameTable([...families]);
  }

  /** Whether only the newest sample of the name with this index counts. */
  keepsNewest(index: number): boolean {
    return this.#newestOnly.has(index);
  }
}

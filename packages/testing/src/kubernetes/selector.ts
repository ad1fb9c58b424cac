/** Label and field selectors, as far as clients of this project send them. */

type Labels = Readonly<Record<string, string>>;

export interface SelectableObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Labels;
  };
  readonly [field: string]: unknown;
}

/**
 * A test for both selectors of a query. Knows `a=b`, `a==b`, `a!=b`, `a`, `!a`, `a in (b,c)` and
 * `a notin (b,c)` for labels, `=` and `!=` on any path for fields.
 */
export function selectorOf(
  labelSelector: string,
  fieldSelector: string,
): (object: SelectableObject) => boolean {
  const labels = splitOutsideParentheses(labelSelector).map(labelTerm);
  const fields = splitOutsideParentheses(fieldSelector).map(fieldTerm);
  return (object) =>
    labels.every((holds) => holds(object.metadata.labels ?? {})) &&
    fields.every((holds) => holds(object));
}

function splitOutsideParentheses(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '');
}

function labelTerm(term: string): (labels: Labels) => boolean {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return (labels) => {
      const value = labels[key];
      const within = value !== undefined && values.includes(value);
      return operator === 'in' ? within : !within;
    };
  }
  const pair = /^([^=!]+?)\s*(==|=|!=)\s*(.*)$/.exec(term);
  if (pair !== null) {
    const [, key = '', operator, value = ''] = pair;
    return (labels) => (labels[key] === value) === (operator !== '!=');
  }
  if (term.startsWith('!')) return (labels) => !(term.slice(1) in labels);
  return (labels) => term in labels;
}

function fieldTerm(term: string): (object: SelectableObject) => boolean {
  const [, path = '', operator, value = ''] = /^([^=!]+?)(==|=|!=)(.*)$/.exec(term) ?? [];
  const steps = path.split('.');
  return (object) => {
    let at: unknown = object;
    for (const step of steps) at = (at as Record<string, unknown> | undefined)?.[step];
    return (String(at ?? '') === value) === (operator !== '!=');
  };
}

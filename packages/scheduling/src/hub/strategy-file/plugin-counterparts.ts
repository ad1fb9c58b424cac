/**
 * The plugins of the Go pickers that have a counterpart here, and how their parameters translate.
 * Names and parameters are those of Gateway API Inference Extension 1.x and llm-d's router; names
 * that were renamed on the way are all known.
 */

export interface TranslatedPart {
  sort: 'filter' | 'scorer' | 'pick';
  type: string;
  parameters: Record<string, unknown>;
}

export interface Counterpart {
  /** The parts that do the plugin's work, and its parameters that do nothing here. */
  translate(parameters: Readonly<Record<string, unknown>>): {
    parts: readonly TranslatedPart[];
    ignored: readonly string[];
  };
}

/** A plugin that one part replaces; `renamed` maps its parameters, the others are ignored. */
function one(
  sort: TranslatedPart['sort'],
  type: string,
  renamed: Readonly<Record<string, string>> = {},
  silent: readonly string[] = [],
): Counterpart {
  return {
    translate(given) {
      const parameters: Record<string, unknown> = {};
      const ignored: string[] = [];
      for (const [name, value] of Object.entries(given)) {
        const own = renamed[name];
        if (own !== undefined) parameters[own] = value;
        else if (!silent.includes(name)) ignored.push(name);
      }
      return { parts: [{ sort, type, parameters }], ignored };
    },
  };
}

/** A plugin whose work is always done here, or that has none. */
const nothing: Counterpart = {
  translate: () => ({ parts: [], ignored: [] }),
};

/** A plugin whose parameters of these names are read by the translation itself. */
function silently(...names: readonly string[]): Counterpart {
  return {
    translate: (given) => ({
      parts: [],
      ignored: Object.keys(given).filter((name) => !names.includes(name)),
    }),
  };
}

function roleFilter(values: readonly string[], allowUnlabeled: boolean): Counterpart {
  const parameters = { label: 'llm-d.ai/role', values, allowUnlabeled };
  return {
    translate: (given) => ({
      parts: [{ sort: 'filter', type: 'label', parameters }],
      ignored: Object.keys(given),
    }),
  };
}

/** `matchLabels: {a: x, b: y}`: both must match, so each becomes a filter. */
const labelSelector: Counterpart = {
  translate(given) {
    const { matchLabels, ...others } = given;
    const pairs = Object.entries((matchLabels ?? {}) as Record<string, unknown>);
    return {
      parts: pairs.map(([label, value]) => ({
        sort: 'filter',
        type: 'label',
        parameters: { label, values: [String(value)] },
      })),
      ignored: Object.keys(others),
    };
  },
};

// Names of further endpoints are the pick's `maxNumOfEndpoints`, read by the translation itself.
const pickParameters = ['maxNumOfEndpoints'];

const prefill = ['prefill', 'prefill-decode', 'encode-prefill', 'encode-prefill-decode', 'both'];
const decode = ['decode', 'prefill-decode', 'encode-prefill-decode', 'both'];

export const counterparts: Readonly<Record<string, Counterpart>> = {
  'queue-scorer': one('scorer', 'queue'),
  'load-aware-scorer': one('scorer', 'queue'),
  'running-requests-size-scorer': one('scorer', 'running'),
  'kv-cache-utilization-scorer': one('scorer', 'kv'),
  'kv-cache-scorer': one('scorer', 'kv'),
  'active-request-scorer': one('scorer', 'in-flight'),
  'token-load-scorer': one('scorer', 'token-load', { queueThresholdTokens: 'limitTokens' }),
  'prefix-cache-scorer': one('scorer', 'prefix'),
  'lora-affinity-scorer': one('scorer', 'lora'),
  'session-affinity-scorer': one('scorer', 'session', { headerName: 'header' }),
  'by-label': one('filter', 'label', {
    label: 'label',
    validValues: 'values',
    allowsNoLabel: 'allowUnlabeled',
  }),
  'by-label-selector': labelSelector,
  'decode-filter': roleFilter(decode, true),
  'prefill-filter': roleFilter(prefill, false),
  'max-score-picker': one('pick', 'max-score', {}, pickParameters),
  'random-picker': one('pick', 'random', {}, pickParameters),
  'weighted-random-picker': one('pick', 'weighted-random', {}, pickParameters),
  'single-profile-handler': nothing,
  'utilization-detector': nothing,
  'concurrency-detector': silently('maxConcurrency'),
  // Named by bands of flowControl, which say what is done with them.
  'round-robin-fairness-policy': nothing,
  'fcfs-ordering-policy': nothing,
  'edf-ordering-policy': nothing,
  'slo-deadline-ordering-policy': nothing,
  // What these gather is always gathered here.
  'approx-prefix-cache-producer': nothing,
  'inflight-load-producer': nothing,
};

/**
 * Which calls make an engine's model compute, by method and path. The others (tokenizers, counts,
 * lists, probes) cost the engine next to nothing whatever their bodies hold, and leave nothing in
 * its cache.
 */

/** Last segments of paths under which engines compute nothing. */
const cheapEndings = new Set([
  'tokenize',
  'detokenize',
  'tokenizer_info',
  'count_tokens',
  'input_tokens',
  'render',
  'derender',
  'models',
  'model_info',
  'get_model_info',
  'server_info',
  'get_server_info',
  'load_lora_adapter',
  'unload_lora_adapter',
  'flush_cache',
  'reset_prefix_cache',
  'health',
  'ping',
  'version',
  'metrics',
  'cancel',
]);

/** Methods by which nothing is asked to be computed; a GET may still open a socket for it. */
const readingMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE']);

/** Unknown paths compute: their bodies tell how much. `isUpgrade`: the call opens a socket. */
export function computes(
  method: string | undefined,
  path: string | undefined,
  isUpgrade: boolean,
): boolean {
  if (method !== undefined && readingMethods.has(method)) return isUpgrade;
  if (path === undefined) return true;
  const end = path.search(/[?#]/);
  const segments = (end < 0 ? path : path.slice(0, end)).split('/').filter((part) => part !== '');
  return !cheapEndings.has(segments.at(-1)?.toLowerCase() ?? '');
}

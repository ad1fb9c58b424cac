/**
 * How a page is asked for by the names of its series: `name[]=…` once per sample name, as the
 * Prometheus clients for Python and Java take it.
 */

/**
 * Longest path with its query, bytes. Servers bound the request line at 8 KB and more (h11, under
 * vLLM's uvicorn: 16 KB for line and headers); a vLLM's page takes about 1 KB.
 */
const pathBytesMax = 6_144;

/**
 * The paths to try in turn for the page at `path` (with or without a query): the very path, then
 * the one below it. vLLM up to 0.32 answers `/metrics` by a route that ignores the query, and the
 * client library's application answers `/metrics/`. None when there is nothing to ask for, when the
 * request would be too long, or when the configuration asks by name itself.
 */
export function selectionPaths(path: string, names: readonly string[]): string[] {
  const mark = path.indexOf('?');
  const bare = mark < 0 ? path : path.slice(0, mark);
  const query = mark < 0 ? '' : path.slice(mark + 1);
  if (names.length === 0 || new URLSearchParams(query).has('name[]')) return [];
  // Not escaped: vLLM's server takes it, and each escape costs it time of what is to be saved.
  const asked = names.map((name) => `name[]=${name}`).join('&');
  const all = query === '' ? asked : `${query}&${asked}`;
  const paths = bare.endsWith('/') ? [bare] : [bare, `${bare}/`];
  return paths.map((each) => `${each}?${all}`).filter((each) => each.length <= pathBytesMax);
}

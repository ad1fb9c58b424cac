/**
 * Where a picture or a recording lies, without what is new in every signed link to it: two links to
 * one object are the same medium to an engine, which keeps what it has encoded by content.
 */

/** Parameters of signed links of the large object stores and CDNs, in lower case. */
const signatureNames = new Set([
  'awsaccesskeyid',
  'expires',
  'exp',
  'googleaccessid',
  'hdnea',
  'hdnts',
  'hmac',
  'key-pair-id',
  'keyname',
  'ossaccesskeyid',
  'policy',
  'security-token',
  'sig',
  'signature',
  'token',
  'urlprefix',
]);
const signaturePrefixes = ['x-amz-', 'x-goog-', 'x-oss-', 'x-cos-', 'x-tos-', 'x-ms-', 'q-'];
/** Short enough to mean something else where there is no `sig` beside them (Azure). */
const azureNames = new Set(
  ['se', 'sp', 'spr', 'sr', 'srt', 'ss', 'st', 'sv'].concat([
    'ske',
    'skoid',
    'sks',
    'skt',
    'sktid',
    'skv',
    'saoid',
    'suoid',
    'scid',
    'sip',
    'ses',
  ]),
);

/** The link without signature parameters and fragment; their order is kept. */
export function withoutSignature(url: string): string {
  const [whole] = url.split('#', 1) as [string];
  const at = whole.indexOf('?');
  if (at < 0) return whole;
  const parameters = whole.slice(at + 1).split('&');
  const isAzure = parameters.some((parameter) => nameOf(parameter) === 'sig');
  const kept = parameters.filter((parameter) => {
    const name = nameOf(parameter);
    if (signatureNames.has(name) || (isAzure && azureNames.has(name))) return false;
    return !signaturePrefixes.some((prefix) => name.startsWith(prefix));
  });
  return kept.length === 0 ? whole.slice(0, at) : `${whole.slice(0, at)}?${kept.join('&')}`;
}

function nameOf(parameter: string): string {
  return parameter.split('=', 1)[0]!.toLowerCase();
}

/**
 * The part of a Kubernetes object that every consumer reads. Only what this project uses is
 * typed; the rest of an object is dropped by the projection of the one who watches it.
 */

export interface ObjectMeta {
  readonly name: string;
  /** Empty for cluster-wide objects. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** Which collection of objects: the path is the same for list and watch. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** `/apis/group/version[/namespaces/ns]/plural[/name]`; no namespace means the whole cluster. */
export function resourcePath(resource: Resource, namespace?: string, name?: string): string {
  const root =
    resource.group === ''
      ? `/api/${resource.version}`
      : `/apis/${resource.group}/${resource.version}`;
  const scope = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${scope}/${resource.plural}${object}`;
}

/** Whether `value` may be kept: an object with a name, a UID and a version. A Status is none. */
export function isKubeObject(value: unknown): value is KubeObject {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, metadata } = value as { kind?: unknown; metadata?: Partial<ObjectMeta> };
  if (kind === 'Status' || typeof metadata !== 'object' || metadata === null) return false;
  return (
    isText(metadata.name) &&
    isText(metadata.uid) &&
    isText(metadata.resourceVersion) &&
    (metadata.namespace === undefined || typeof metadata.namespace === 'string')
  );
}

/** Whether every wanted label is there. An empty selector matches nothing: see membership. */
export function matchesLabels(
  labels: Readonly<Record<string, string>>,
  wanted: readonly (readonly [string, string])[],
): boolean {
  if (wanted.length === 0) return false;
  for (const [key, value] of wanted) if (labels[key] !== value) return false;
  return true;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

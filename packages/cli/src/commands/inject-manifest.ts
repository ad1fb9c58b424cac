/**
 * Adds sidecars to manifests: text in, text out, for GitOps where nobody may change pods on their
 * way into the cluster. Pure.
 *
 * The text is edited, not written anew: comments, order and quoting stay. Only blanks may change
 * (before a comment, inside braces), and only in a file that gained a sidecar; any other file
 * comes back byte by byte.
 */
import {
  additions,
  injectedAnnotation,
  mutatePod,
  type Pod,
  type SidecarTemplate,
  sidecarName,
} from '@leadsman/injector';
import { type Document, isMap, isScalar, isSeq, parseAllDocuments } from 'yaml';

export interface InjectOptions {
  readonly template: SidecarTemplate;
  /** Takes out a sidecar that is there and adds it anew, as after a change of the template. */
  readonly replace: boolean;
}

export interface InjectReport {
  /** `Kind name`, with the place of the pod inside it where that is not the usual one. */
  readonly subject: string;
  /** `injected`, or why not. */
  readonly outcome: string;
  readonly notes: readonly string[];
}

/** A manifest that cannot be read. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
}

type Path = readonly (string | number)[];

/** Where the pods are inside the objects that make them. */
const templatePaths: Readonly<Record<string, readonly Path[]>> = {
  Pod: [[]],
  PodTemplate: [['template']],
  CronJob: [['spec', 'jobTemplate', 'spec', 'template']],
  // A leader serves for its group; without a template of its own it is made from the workers'.
  LeaderWorkerSet: [
    ['spec', 'leaderWorkerTemplate', 'leaderTemplate'],
    ['spec', 'leaderWorkerTemplate', 'workerTemplate'],
  ],
};

/** Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, and whatever follows their custom. */
const usualPaths: readonly Path[] = [['spec', 'template']];

/** The patched text and what was done. Throws {@link ManifestError}. */
export function injectManifest(
  text: string,
  options: InjectOptions,
): { text: string; reports: InjectReport[] } {
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return { text, reports: [] };
  const reports: InjectReport[] = [];
  const patched = documents.map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new ManifestError(error.message);
    return injectDocument(document, [], options, reports);
  });
  if (!patched.some((changed) => changed)) return { text, reports };
  return { text: documents.map((document) => print(document, text)).join(''), reports };
}

/** Whether the document was changed. */
function injectDocument(
  document: Document,
  at: Path,
  options: InjectOptions,
  reports: InjectReport[],
): boolean {
  const kind = textAt(document, [...at, 'kind']);
  const items = document.getIn([...at, 'items']);
  if (kind?.endsWith('List') && isSeq(items)) {
    const changed = items.items.map((_, i) =>
      injectDocument(document, [...at, 'items', i], options, reports),
    );
    return changed.some((one) => one);
  }
  const name = textAt(document, [...at, 'metadata', 'name']) ?? '?';
  for (const path of templatePaths[kind ?? ''] ?? usualPaths) {
    const place = [...at, ...path];
    if (!isSeq(document.getIn([...place, 'spec', 'containers']))) continue;
    const where = path.length > 2 ? ` (${path.at(-1)})` : '';
    const report = injectPod(document, place, options);
    reports.push({ subject: `${kind ?? 'object'} ${name}${where}`, ...report });
    return report.outcome === 'injected';
  }
  return false;
}

function injectPod(
  document: Document,
  place: Path,
  options: InjectOptions,
): Omit<InjectReport, 'subject'> {
  if (options.replace) removeSidecar(document, place);
  const node = document.getIn(place, true) ?? document.contents;
  const before = (isMap(node) ? node.toJS(document) : {}) as Pod;
  const result = mutatePod(before, { template: options.template });
  if (!result.injected) return { outcome: result.reason, notes: [] };
  for (const { path, value } of additions(before, result.pod)) {
    const steps = path.split('/').slice(1).map(unescapeStep);
    const target = [...place, ...steps];
    if (target.at(-1) === '-') document.addIn(target.slice(0, -1), document.createNode(value));
    else document.setIn(target, document.createNode(value));
  }
  return { outcome: 'injected', notes: result.faults };
}

function removeSidecar(document: Document, place: Path): void {
  for (const list of ['initContainers', 'containers', 'volumes']) {
    const node = document.getIn([...place, 'spec', list]);
    if (!isSeq(node)) continue;
    node.items = node.items.filter((item) => {
      const name = isMap(item) ? item.get('name') : undefined;
      return name !== sidecarName && !(list === 'volumes' && name === 'leadsman-nats');
    });
    if (node.items.length === 0) document.deleteIn([...place, 'spec', list]);
  }
  document.deleteIn([...place, 'metadata', 'annotations', injectedAnnotation]);
}

function textAt(document: Document, path: Path): string | undefined {
  const value = document.getIn(path);
  const plain = isScalar(value) ? value.value : value;
  return typeof plain === 'string' ? plain : undefined;
}

function unescapeStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** In the text's own style: lists with or without indent, braces with or without blanks. */
function print(document: Document, text: string): string {
  const flush = /^( *)[\w./-]+:[ \t]*\n\1- /m.test(text);
  const tight = /[{[][^\s}\]]/.test(text);
  return document.toString({
    lineWidth: 0,
    indentSeq: !flush,
    flowCollectionPadding: !tight,
    directives: null,
  });
}

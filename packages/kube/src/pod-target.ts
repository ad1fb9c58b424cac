/**
 * What a pod says about itself to this system: by one label and some annotations.
 *
 * The injector turns it into the sidecar's environment, the node agent into a target of its own;
 * so that both read the same, it is read here.
 */

/** Label of a pod: `true` asks for a sidecar, `false` refuses one whatever else asks for it. */
export const injectLabel = 'leadsman.dev/inject';

/** Name of the injected container, by which everything recognises that a pod has one. */
export const sidecarName = 'leadsman-sidecar';

export const targetAnnotations = {
  /** Ports of the engine, comma list; each serves requests and its own `/metrics`. */
  port: 'leadsman.dev/port',
  /** Path of the metrics page. */
  path: 'leadsman.dev/path',
  /** `http` or `https`. */
  scheme: 'leadsman.dev/scheme',
  /** Engine profile; absent: found out from the page. */
  engine: 'leadsman.dev/engine',
  /** File with a bearer token, as the engine's container sees it. */
  tokenFile: 'leadsman.dev/token-file',
} as const;

export interface PodTarget {
  /** Empty: the pod does not say. */
  readonly ports: readonly number[];
  /** Empty where the pod does not say. */
  readonly path: string;
  readonly scheme: '' | 'http' | 'https';
  readonly engine: string;
  readonly tokenFile: string;
  /** Annotations whose value cannot be used, as lines for people. */
  readonly faults: readonly string[];
}

/** More ports than an InferencePool may have are a mistake. */
const portsMax = 8;

/** Reads the annotations; unusable ones are as if absent, and named in `faults`. */
export function podTarget(annotations: Readonly<Record<string, string>> | undefined): PodTarget {
  const faults: string[] = [];
  const read = (name: string, accepts: RegExp): string => {
    const value = annotations?.[name]?.trim() ?? '';
    if (value === '' || accepts.test(value)) return value;
    faults.push(`annotation ${name} has no usable value: ${value.slice(0, 60)}`);
    return '';
  };
  const ports = read(targetAnnotations.port, /^\d{1,5}(\s*,\s*\d{1,5})*$/)
    .split(',')
    .map(Number)
    .filter((port) => port >= 1 && port <= 65_535);
  if (ports.length > portsMax) faults.push(`only the first ${portsMax} ports are used`);
  return {
    ports: [...new Set(ports)].slice(0, portsMax),
    path: read(targetAnnotations.path, /^\/[\x21-\x7e]{0,200}$/),
    scheme: read(targetAnnotations.scheme, /^https?$/) as PodTarget['scheme'],
    engine: read(targetAnnotations.engine, /^[a-z0-9][a-z0-9_-]{0,40}$/),
    tokenFile: read(targetAnnotations.tokenFile, /^\/[\x21-\x7e]{1,200}$/),
    faults,
  };
}

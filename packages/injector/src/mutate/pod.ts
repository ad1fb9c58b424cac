/**
 * A pod as far as the injector reads or writes it. All other fields pass through untouched, so
 * every type here is open.
 */

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: unknown;
}

export interface VolumeMount {
  name: string;
  mountPath: string;
  readOnly?: boolean;
  [field: string]: unknown;
}

export interface Container {
  name: string;
  ports?: { containerPort?: number; name?: string; [field: string]: unknown }[];
  env?: EnvVar[];
  volumeMounts?: VolumeMount[];
  securityContext?: Record<string, unknown>;
  [field: string]: unknown;
}

export interface PodSpec {
  containers?: Container[];
  initContainers?: Container[];
  volumes?: { name: string; [field: string]: unknown }[];
  hostNetwork?: boolean;
  os?: { name?: string };
  securityContext?: Record<string, unknown>;
  [field: string]: unknown;
}

export interface PodMeta {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  [field: string]: unknown;
}

/** A Pod, or the template of one inside a Deployment. */
export interface Pod {
  metadata?: PodMeta;
  spec?: PodSpec;
  [field: string]: unknown;
}

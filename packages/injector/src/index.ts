/** What others may use of the injector: the pure mutation, for the command-line tool. */

export { sidecarName } from '@leadsman/kube';
export * from './mutate/json-patch.ts';
export * from './mutate/mutate-pod.ts';
export * from './mutate/pod.ts';
export * from './mutate/read-template.ts';
export * from './mutate/sidecar-template.ts';

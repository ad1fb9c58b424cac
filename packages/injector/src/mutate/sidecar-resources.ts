/**
 * What a sidecar asks for beside the containers of its pod. A pod that was admitted, and had its
 * share of a node, must have it with the sidecar, too:
 *
 * - Where every container gives a bound, a quota of the namespace may demand it of every one: the
 *   sidecar gives it as well.
 * - Where every container's requests are its limits, so are the sidecar's. The pod would lose its
 *   Guaranteed class otherwise, and with that the cores that are its own.
 * - Where the pod as a whole has resources, the sum over containers may not exceed them: the sidecar
 *   takes its part of what is there.
 *
 * Only a LimitRange with a minimum above the sidecar's requests can still refuse such a pod: this
 * function sees none of the namespace's objects.
 */
import type { Container, Pod } from './pod.ts';
import { quantityValue, type SidecarTemplate } from './sidecar-template.ts';

export type Resources = SidecarTemplate['resources'];
type Side = 'requests' | 'limits';

/** Given only where the pod makes us: a tenth of a core is three times what a sidecar takes. */
const bounds: Readonly<Record<Side, Readonly<Record<string, string>>>> = {
  requests: { cpu: '20m', memory: '96Mi', 'ephemeral-storage': '16Mi' },
  limits: { cpu: '100m', memory: '192Mi', 'ephemeral-storage': '64Mi' },
};
const names = Object.keys(bounds.limits);

/** The resources of the sidecar of `pod`. */
export function sidecarResources(pod: Pod, template: SidecarTemplate): Resources {
  if (pod.spec?.resources) return { requests: {}, limits: {} };
  const resources = structuredClone(template.resources) as Record<Side, Record<string, string>>;
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  for (const name of names) {
    for (const side of ['requests', 'limits'] as const) {
      if (resources[side][name] !== undefined || !all(containers, side, name)) continue;
      resources[side][name] = bounds[side][name] as string;
    }
    const { requests, limits } = resources;
    const request = requests[name];
    const limit = limits[name];
    if (request === undefined || limit === undefined) continue;
    // A bound that was added here must not be below, or above, what the template says.
    if (quantityValue(request) > quantityValue(limit)) {
      if (template.resources.limits[name as keyof Resources['limits']] === undefined)
        limits[name] = request;
      else requests[name] = limit;
    }
    if (isGuaranteed(containers)) requests[name] = limits[name] as string;
  }
  return resources;
}

function all(containers: readonly Container[], side: Side, name: string): boolean {
  return (
    containers.length > 0 && containers.every((one) => quantityOf(one, side, name) !== undefined)
  );
}

/** Kubernetes' own rule: limits of CPU and memory everywhere, and requests equal or absent. */
function isGuaranteed(containers: readonly Container[]): boolean {
  return (
    containers.length > 0 &&
    containers.every((container) =>
      ['cpu', 'memory'].every((name) => {
        const limit = quantityOf(container, 'limits', name);
        const request = quantityOf(container, 'requests', name) ?? limit;
        return limit !== undefined && quantityValue(limit) > 0 && sameQuantity(request, limit);
      }),
    )
  );
}

function sameQuantity(a: string | undefined, b: string): boolean {
  return a === b || (a !== undefined && quantityValue(a) === quantityValue(b));
}

function quantityOf(container: Container, side: Side, name: string): string | undefined {
  const resources = container.resources as
    | Partial<Record<Side, Record<string, unknown>>>
    | undefined;
  const value = resources?.[side]?.[name];
  return value === undefined || value === null ? undefined : String(value);
}

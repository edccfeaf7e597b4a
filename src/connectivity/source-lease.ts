import { componentLabel, sourcePodAnnotation } from "../api/annotations.ts";
import type { Lease } from "../api/core/lease.ts";
import { objectName, MAX_NAME_LENGTH } from "../api/object-name.ts";
import type { Cache } from "../kube/cache/cache.ts";

/** The Lease of a probing pod, in the pod's namespace. */

const component = "check-source";
export const sourceSelector = `${componentLabel}=${component}`;

export function sourceLease(pod: string): { name: string; labels: Record<string, string>; annotations: Record<string, string> } {
  return { name: leaseName(pod), labels: { [componentLabel]: component }, annotations: { [sourcePodAnnotation]: pod } };
}

/** `namespace/pod`; undefined for an unrelated Lease. */
export function sourceOfLease({ metadata }: Lease): string | undefined {
  const pod = metadata.annotations?.[sourcePodAnnotation];
  return pod !== undefined && leaseName(pod) === metadata.name ? `${metadata.namespace}/${pod}` : undefined;
}

function leaseName(pod: string): string {
  return objectName(`check-${pod}`, MAX_NAME_LENGTH.name);
}

/** Pods with checks whose Lease was deleted, as it is with the pod: they count as silent until their checks are marked. */
export class LostLeases {
  readonly #lost = new Set<string>();
  readonly #hasChecks: (source: string) => boolean;

  constructor(leases: Pick<Cache<Lease>, "subscribe">, hasChecks: (source: string) => boolean) {
    this.#hasChecks = hasChecks;
    leases.subscribe(({ type, object }) => {
      const source = sourceOfLease(object);
      if (source === undefined) return;
      if (type === "deleted") this.#lost.add(source);
      else this.#lost.delete(source);
    });
  }

  *sources(): Iterable<string> {
    for (const source of this.#lost) {
      if (this.#hasChecks(source)) yield source;
      else this.#lost.delete(source);
    }
  }
}

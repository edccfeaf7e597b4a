import type { Address } from "../../ip/address.ts";

/** What announcing looks at in a Service of type LoadBalancer that is ours. */
export interface ServiceView {
  /** namespace/name */
  readonly key: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** From status.loadBalancer.ingress, in its order; what is no address is left out. */
  readonly addresses: readonly Address[];
  readonly local: boolean;
  readonly sharingKey?: string;
  /** Usable ones: ready, or still serving while they end. */
  readonly endpoints: { readonly any: boolean; readonly nodes: ReadonlySet<string> };
}

export interface NodeView {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** By which others reach it. */
  readonly addresses?: readonly string[];
  readonly networkUnavailable: boolean;
  /** node.kubernetes.io/exclude-from-external-load-balancers, unless it is to be ignored. */
  readonly excluded: boolean;
}

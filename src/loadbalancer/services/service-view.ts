import type { Address } from "../../ip/address.ts";

/** The parts of a LoadBalancer Service of ours that announcing needs. */
export interface ServiceView {
  /** namespace/name */
  readonly key: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** From status.loadBalancer.ingress, in its order; invalid addresses are skipped. */
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

import { builtinKind, type KubeObject } from "../kind.ts";

export interface Lease extends KubeObject {
  spec: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    /** MicroTime: the server takes exactly six fraction digits. */
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export const Lease = builtinKind<Lease>({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced",
});

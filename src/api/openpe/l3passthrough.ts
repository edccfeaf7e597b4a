import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";
import { hostSession } from "./host-session.ts";
import { nodeSelector } from "./node-selector.ts";

export const L3Passthrough = defineKind({
  group: "openpe.openperouter.github.io",
  version: "v1alpha1",
  kind: "L3Passthrough",
  plural: "l3passthroughs",
  scope: "Namespaced",
  categories: ["plumbline", "openperouter"],
  doc: "A BGP session between the router and the node in the default VRF: the node's routes reach the fabric without encapsulation. At most one on a node. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "ASN", path: ".spec.hostsession.asn", type: "integer", doc: "The router's AS number in the session with the host." },
    { name: "Host ASN", path: ".spec.hostsession.hostasn", type: "integer", doc: "The host's AS number in that session." },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  spec: s.object({ hostsession: hostSession(), nodeSelector: s.optional(nodeSelector()) }, { doc: "The desired state." }),
  status: s.object({ claims: s.optional(claims()) }, { doc: "The state of this object in the cluster, written by the controller." }),
});
export type L3Passthrough = Stored<typeof L3Passthrough>;

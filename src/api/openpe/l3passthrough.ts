import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";
import { hostSession } from "./host-session.ts";
import { AGE, claimsStatus, nodeSelector, OPENPE } from "../router-fields.ts";

export const L3Passthrough = defineKind({
  ...OPENPE,
  kind: "L3Passthrough",
  plural: "l3passthroughs",
  doc: "A BGP session between the router and the node in the default VRF: the node's routes reach the fabric without encapsulation. At most one on a node. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "ASN", path: ".spec.hostsession.asn", type: "integer", doc: "The router's AS number in the session with the host." },
    { name: "Host ASN", path: ".spec.hostsession.hostasn", type: "integer", doc: "The host's AS number in that session." },
    AGE,
  ],
  spec: s.object({ hostsession: hostSession(), nodeSelector: s.optional(nodeSelector()) }, { doc: "The desired state." }),
  status: claimsStatus(),
});
export type L3Passthrough = Stored<typeof L3Passthrough>;

import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";
import { hostSession, sameHostSession } from "./host-session.ts";
import { nodeSelector, underlayAddressFamily } from "./node-selector.ts";

export const routeTargets = (doc: string) =>
  s.list(s.string({ doc: "A route target, such as 64514:100 or 192.0.2.1:100.", maxLength: 21 }), { doc, maxItems: 100 });

export const L3VNI = defineKind({
  group: "openpe.openperouter.github.io",
  version: "v1alpha1",
  kind: "L3VNI",
  plural: "l3vnis",
  scope: "Namespaced",
  categories: ["plumbline", "openperouter"],
  doc: "A routed EVPN overlay: one VRF on the selected nodes, stretched across the fabric by one VNI. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "VRF", path: ".spec.vrf", type: "string", doc: "The VRF that it routes for." },
    { name: "VNI", path: ".spec.vni", type: "integer", doc: "The VXLAN network identifier." },
    {
      name: "ASN",
      path: ".spec.hostsession.asn",
      type: "integer",
      doc: "The router's AS number in the session with the host.",
      wide: true,
    },
    { name: "Host ASN", path: ".spec.hostsession.hostasn", type: "integer", doc: "The host's AS number in that session.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  spec: s.object(
    {
      vrf: s.string({
        doc: "The VRF that this VNI routes for; on each node a Linux VRF device of this name. A VRF has at most one L3VNI.",
        maxLength: 15,
        pattern: "^[a-zA-Z][a-zA-Z0-9_-]*$",
      }),
      vni: s.int({
        doc: "The VXLAN network identifier. No other L3VNI or L2VNI on the same node may use it.",
        minimum: 1,
        maximum: 16_777_215,
      }),
      underlayAddressFamily: s.optional(underlayAddressFamily()),
      vxlanport: s.default(
        s.int({ doc: "The UDP port of the VXLAN tunnel, the same on every VTEP of the fabric.", minimum: 1, maximum: 65_535 }),
        4789,
      ),
      hostsession: s.optional(hostSession()),
      exportRTs: s.optional(
        routeTargets(
          "The route targets that the VRF's routes are exported with. Default: derived from the AS number and the VNI. Two VRFs of a node must not export the same route target, nor one whose number is another VNI of the node: FRR imports that from any AS number.",
        ),
      ),
      importRTs: s.optional(
        routeTargets(
          "The route targets whose routes the VRF imports. Default: derived from the VNI, for any AS number. Traffic flows only between L3VNIs with the same VNI.",
        ),
      ),
      nodeSelector: s.optional(nodeSelector()),
    },
    { doc: "The desired state.", rules: [sameHostSession()] },
  ),
  status: s.object({ claims: s.optional(claims()) }, { doc: "The state of this object in the cluster, written by the controller." }),
});
export type L3VNI = Stored<typeof L3VNI>;

import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";
import { hostSession, sameHostSession } from "./host-session.ts";
import { AGE, claimsStatus, nodeSelector, OPENPE, underlayAddressFamily, vni, vniRouteTargets, vrf, vxlanPort } from "../router-fields.ts";

export const L3VNI = defineKind({
  ...OPENPE,
  kind: "L3VNI",
  plural: "l3vnis",
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
    AGE,
  ],
  spec: s.object(
    {
      vrf: vrf("The VRF that this VNI routes for; on each node a Linux VRF device of this name. A VRF has at most one L3VNI."),
      vni: vni("The VXLAN network identifier. No other L3VNI or L2VNI on the same node may use it."),
      underlayAddressFamily: s.optional(underlayAddressFamily(["ipv4", "ipv6"])),
      vxlanport: vxlanPort(),
      hostsession: s.optional(hostSession()),
      ...vniRouteTargets(),
      nodeSelector: s.optional(nodeSelector()),
    },
    { doc: "The desired state.", rules: [sameHostSession()] },
  ),
  status: claimsStatus(),
});
export type L3VNI = Stored<typeof L3VNI>;

import { defineKind, type Stored } from "../define-kind.ts";
import { hostSession as olderHostSession, sameHostSession as sameOlderHostSession } from "../openpe/host-session.ts";
import type { Rule } from "../rule.ts";
import { type Field, s } from "../schema.ts";
import {
  AGE,
  claimsStatus,
  NETWORK,
  nodeSelector,
  OPENPE,
  routeTargets,
  underlayAddressFamily,
  vni,
  vniRouteTargets,
  vrf,
  vxlanPort,
} from "../router-fields.ts";
import { hostSession, sameHostSession } from "./host-session.ts";

export const NetworkL3VNI = defineKind({
  ...NETWORK,
  kind: "L3VNI",
  plural: "l3vnis",
  doc: "A routed EVPN overlay: one VRF on the selected nodes, stretched across the fabric by one VNI. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "VNI", path: ".spec.vni", type: "integer", doc: "The VXLAN network identifier." },
    { name: "VRF", path: ".spec.vrf", type: "string", doc: "The VRF that it routes for." },
    AGE,
  ],
  spec: s.object(
    {
      vrf: vrf("The VRF that this VNI routes for; on each node a Linux VRF device of this name. A VRF has at most one L3VNI.", 1),
      vni: vni("The VXLAN network identifier. No other L3VNI or L2VNI on the same node may use it."),
      underlayAddressFamily: s.optional(underlayAddressFamily(["IPv4", "IPv6"])),
      vxlanPort: vxlanPort(),
      hostSession: s.optional(hostSession()),
      ...vniRouteTargets(),
      nodeSelector: s.optional(nodeSelector()),
    },
    { doc: "The desired state.", rules: [sameHostSession()] },
  ),
  status: claimsStatus(),
});
export type NetworkL3VNI = Stored<typeof NetworkL3VNI>;

export const NetworkL3Passthrough = defineKind({
  ...NETWORK,
  kind: "L3Passthrough",
  plural: "l3passthroughs",
  doc: "A BGP session between the router and the node in the default VRF: the node's routes reach the fabric without encapsulation. At most one on a node. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "ASN", path: ".spec.hostSession.asn", type: "integer", doc: "The router's AS number in the session with the host." },
    { name: "HostASN", path: ".spec.hostSession.hostASN", type: "integer", doc: "The host's AS number in that session." },
    AGE,
  ],
  spec: s.object({ hostSession: hostSession(), nodeSelector: s.optional(nodeSelector()) }, { doc: "The desired state." }),
  status: claimsStatus(),
});
export type NetworkL3Passthrough = Stored<typeof NetworkL3Passthrough>;

const l3vpn = (group: string, session: Readonly<Record<string, Field>>, rules: readonly Rule<object>[]) =>
  defineKind({
    ...NETWORK,
    group,
    kind: "L3VPN",
    plural: "l3vpns",
    doc: "A routed overlay over SRv6. Accepted so that manifests for OpenPERouter are not rejected; not supported by this version, as the RouterNodeConfigurationStatus of each node says.",
    columns: [{ name: "VRF", path: ".spec.vrf", type: "string", doc: "The VRF that it routes for." }, AGE],
    spec: s.object(
      {
        vrf: vrf("The VRF that it routes for.", 1),
        rdAssignedNumber: s.int({ doc: "The number in the route distinguisher.", minimum: 1, maximum: 65_535 }),
        importRTs: routeTargets("The route targets whose routes the VRF imports."),
        exportRTs: s.optional(routeTargets("The route targets that the VRF's routes are exported with.")),
        ...session,
        nodeSelector: s.optional(nodeSelector()),
      },
      { doc: "The desired state.", rules },
    ),
    status: claimsStatus(),
  });

export const L3VPN = l3vpn(OPENPE.group, { hostsession: s.optional(olderHostSession()) }, [sameOlderHostSession()]);
export const NetworkL3VPN = l3vpn(NETWORK.group, { hostSession: s.optional(hostSession()) }, [sameHostSession()]);

import { defineKind, type Stored } from "../define-kind.ts";
import { hostSession as olderHostSession, sameHostSession as sameOlderHostSession } from "../openpe/host-session.ts";
import { nodeSelector } from "../openpe/node-selector.ts";
import { routeTargets } from "../openpe/l3vni.ts";
import type { Rule } from "../rule.ts";
import { type Field, s } from "../schema.ts";
import { AGE, claimsStatus, NETWORK, underlayAddressFamily, vni, vrf, vxlanPort } from "./fields.ts";
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
      vrf: vrf("The VRF that this VNI routes for; on each node a Linux VRF device of this name. A VRF has at most one L3VNI."),
      vni: vni("The VXLAN network identifier. No other L3VNI or L2VNI on the same node may use it."),
      underlayAddressFamily: s.optional(underlayAddressFamily()),
      vxlanPort: vxlanPort(),
      hostSession: s.optional(hostSession()),
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
        vrf: vrf("The VRF that it routes for."),
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

export const L3VPN = l3vpn("openpe.openperouter.github.io", { hostsession: s.optional(olderHostSession()) }, [sameOlderHostSession()]);
export const NetworkL3VPN = l3vpn(NETWORK.group, { hostSession: s.optional(hostSession()) }, [sameHostSession()]);

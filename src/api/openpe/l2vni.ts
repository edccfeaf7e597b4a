import { defineKind, type Stored } from "../define-kind.ts";
import { fieldOfType, rule } from "../rule.ts";
import { s } from "../schema.ts";
import {
  AGE,
  claimsStatus,
  gatewayAddresses,
  nodeSelector,
  OPENPE,
  sameGateways,
  underlayAddressFamily,
  vni,
  vrf,
  vxlanPort,
} from "../router-fields.ts";

const bridge = (doc: string) =>
  s.object(
    {
      name: s.optional(s.string({ doc: "The name of the bridge on the node.", maxLength: 15, pattern: "^[a-zA-Z][a-zA-Z0-9_-]*$" })),
      autoCreate: s.default(s.bool({ doc: "Whether to create the bridge br-hs-<vni>, and to remove it with this object." }), false),
    },
    {
      doc,
      rules: [
        rule({
          cel: "(has(self.name) && self.name != '') != self.autoCreate",
          message: "exactly one of name and autoCreate must be set",
          check: (self) => Boolean(self.name) !== self.autoCreate,
        }),
      ],
    },
  );

const hostmaster = s.object(
  {
    type: s.enum(["linux-bridge", "ovs-bridge"], {
      doc: "The type of the bridge. Set the field of that type and leave the other one empty.",
    }),
    linuxBridge: s.optional(bridge("A Linux bridge.")),
    ovsBridge: s.optional(bridge("An Open vSwitch bridge.")),
  },
  {
    doc: "The bridge on the node that the host's end is attached to. Without it the host's end stays unattached.",
    rules: [fieldOfType(["linux-bridge", "linuxBridge"], ["ovs-bridge", "ovsBridge"])],
  },
);

export const L2VNI = defineKind({
  ...OPENPE,
  kind: "L2VNI",
  plural: "l2vnis",
  doc: "A bridged EVPN overlay: one broadcast domain on the selected nodes, stretched across the fabric by one VNI. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "VRF", path: ".spec.vrf", type: "string", doc: "The VRF that it belongs to." },
    { name: "VNI", path: ".spec.vni", type: "integer", doc: "The VXLAN network identifier." },
    { name: "Gateways", path: ".spec.l2gatewayips", type: "string", doc: "The gateway addresses that every node answers for.", wide: true },
    AGE,
  ],
  spec: s.object(
    {
      vrf: s.optional(
        vrf(
          "The VRF that it belongs to; on each node a Linux VRF device of this name. Several L2VNIs may share a VRF. Without it: in v0.1 the VRF has the name of the object; in v0.2 the L2VNI belongs to no VRF. The annotation plumbline.dev/api chooses; the default is v0.1, and v0.2 where underlayAddressFamily is set.",
        ),
      ),
      vni: vni("The VXLAN network identifier. No other L2VNI or L3VNI on the same node may use it."),
      underlayAddressFamily: s.optional(underlayAddressFamily(["ipv4", "ipv6"])),
      vxlanport: vxlanPort(),
      hostmaster: s.optional(hostmaster),
      l2gatewayips: gatewayAddresses(),
      nodeSelector: s.optional(nodeSelector()),
    },
    { doc: "The desired state.", rules: [sameGateways("l2gatewayips")] },
  ),
  status: claimsStatus(),
});
export type L2VNI = Stored<typeof L2VNI>;

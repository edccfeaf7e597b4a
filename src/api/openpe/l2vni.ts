import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { rule } from "../rule.ts";
import { s } from "../schema.ts";
import { nodeSelector, underlayAddressFamily } from "./node-selector.ts";

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
    rules: [
      rule({
        cel: "self.type == 'linux-bridge' ? has(self.linuxBridge) && !has(self.ovsBridge) : has(self.ovsBridge) && !has(self.linuxBridge)",
        message: "type linux-bridge allows only linuxBridge, type ovs-bridge only ovsBridge",
        check: ({ type, linuxBridge, ovsBridge }) =>
          (type === "linux-bridge" ? linuxBridge && !ovsBridge : ovsBridge && !linuxBridge) === true,
      }),
    ],
  },
);

export const L2VNI = defineKind({
  group: "openpe.openperouter.github.io",
  version: "v1alpha1",
  kind: "L2VNI",
  plural: "l2vnis",
  scope: "Namespaced",
  categories: ["plumbline", "openperouter"],
  doc: "A bridged EVPN overlay: one broadcast domain on the selected nodes, stretched across the fabric by one VNI. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "VRF", path: ".spec.vrf", type: "string", doc: "The VRF that it belongs to." },
    { name: "VNI", path: ".spec.vni", type: "integer", doc: "The VXLAN network identifier." },
    { name: "Gateways", path: ".spec.l2gatewayips", type: "string", doc: "The gateway addresses that every node answers for.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  spec: s.object(
    {
      vrf: s.optional(
        s.string({
          doc: "The VRF that it belongs to; on each node a Linux VRF device of this name. Several L2VNIs may share a VRF. Without it: in v0.1 the VRF has the name of the object; in v0.2 the L2VNI belongs to no VRF. The annotation plumbline.dev/api chooses; the default is v0.1, and v0.2 where underlayAddressFamily is set.",
          maxLength: 15,
          pattern: "^[a-zA-Z][a-zA-Z0-9_-]*$",
        }),
      ),
      vni: s.int({
        doc: "The VXLAN network identifier. No other L2VNI or L3VNI on the same node may use it.",
        minimum: 1,
        maximum: 16_777_215,
      }),
      underlayAddressFamily: s.optional(underlayAddressFamily()),
      vxlanport: s.default(
        s.int({ doc: "The UDP port of the VXLAN tunnel, the same on every VTEP of the fabric.", minimum: 1, maximum: 65_535 }),
        4789,
      ),
      hostmaster: s.optional(hostmaster),
      l2gatewayips: s.optional(
        s.list(s.string({ doc: "An address with the length of its subnet, such as 192.0.2.1/24.", maxLength: 64 }), {
          doc: "The gateway of the broadcast domain, the same on every node: at most one IPv4 and one IPv6 address. Immutable: delete and recreate the object to change it.",
          maxItems: 2,
        }),
      ),
      nodeSelector: s.optional(nodeSelector()),
    },
    {
      doc: "The desired state.",
      rules: [
        rule({
          cel: "has(self.l2gatewayips) == has(oldSelf.l2gatewayips) && (!has(self.l2gatewayips) || self.l2gatewayips == oldSelf.l2gatewayips)",
          message: "l2gatewayips is immutable; delete and recreate the object to change it",
          transition: (self, oldSelf) =>
            self.l2gatewayips?.length === oldSelf.l2gatewayips?.length &&
            (self.l2gatewayips ?? []).every((address, nth) => address === oldSelf.l2gatewayips?.[nth]),
        }),
      ],
    },
  ),
  status: s.object({ claims: s.optional(claims()) }, { doc: "The state of this object in the cluster, written by the controller." }),
});
export type L2VNI = Stored<typeof L2VNI>;

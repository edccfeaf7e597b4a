import { defineKind, type Stored } from "../define-kind.ts";
import { nodeSelector } from "../openpe/node-selector.ts";
import { oneOfEachFamily, rule } from "../rule.ts";
import { s } from "../schema.ts";
import { AGE, claimsStatus, NETWORK, underlayAddressFamily, vni, vxlanPort } from "./fields.ts";

const bridge = (doc: string) =>
  s.object(
    {
      lifecycle: s.enum(["Managed", "External"], {
        doc: "Managed: the bridge br-hs-<vni> is created, and removed with this object. External: the bridge exists.",
      }),
      name: s.optional(
        s.string({ doc: "The name of an External bridge on the node.", maxLength: 15, pattern: "^[a-zA-Z][a-zA-Z0-9_-]*$" }),
      ),
    },
    {
      doc,
      rules: [
        rule({
          cel: "has(self.name) == (self.lifecycle == 'External')",
          message: "name must be set for lifecycle External, and only for it",
          check: (self) => (self.name !== undefined) === (self.lifecycle === "External"),
        }),
      ],
    },
  );

const hostMaster = s.object(
  {
    type: s.enum(["LinuxBridge", "OVSBridge"], {
      doc: "The type of the bridge. Set the field of that type and leave the other one empty.",
    }),
    linuxBridge: s.optional(bridge("A Linux bridge.")),
    ovsBridge: s.optional(bridge("An Open vSwitch bridge.")),
  },
  {
    doc: "The bridge on the node that the host's end is attached to. Without it the host's end stays unattached.",
    rules: [
      rule({
        cel: "self.type == 'LinuxBridge' ? has(self.linuxBridge) && !has(self.ovsBridge) : has(self.ovsBridge) && !has(self.linuxBridge)",
        message: "type LinuxBridge allows only linuxBridge, type OVSBridge only ovsBridge",
        check: ({ type, linuxBridge, ovsBridge }) =>
          (type === "LinuxBridge" ? linuxBridge && !ovsBridge : ovsBridge && !linuxBridge) === true,
      }),
    ],
  },
);

const reference = (doc: string) =>
  s.object({ name: s.string({ doc: "Its name, in the namespace of this object.", minLength: 1, maxLength: 253 }) }, { doc });

const routingDomain = s.object(
  {
    type: s.enum(["L3VNI", "L3VPN"], { doc: "The kind of the object. Set the field of that kind and leave the other one empty." }),
    l3vni: s.optional(reference("The L3VNI whose VRF the L2VNI belongs to.")),
    l3vpn: s.optional(reference("The L3VPN whose VRF the L2VNI belongs to. Not supported by this version.")),
  },
  {
    doc: "The object whose VRF the L2VNI belongs to. Several L2VNIs may have the same. Without it the L2VNI belongs to no VRF.",
    rules: [
      rule({
        cel: "self.type == 'L3VNI' ? has(self.l3vni) && !has(self.l3vpn) : has(self.l3vpn) && !has(self.l3vni)",
        message: "type L3VNI allows only l3vni, type L3VPN only l3vpn",
        check: ({ type, l3vni, l3vpn }) => (type === "L3VNI" ? l3vni && !l3vpn : l3vpn && !l3vni) === true,
      }),
    ],
  },
);

export const NetworkL2VNI = defineKind({
  ...NETWORK,
  kind: "L2VNI",
  plural: "l2vnis",
  doc: "A bridged EVPN overlay: one broadcast domain on the selected nodes, stretched across the fabric by one VNI. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "VNI", path: ".spec.vni", type: "integer", doc: "The VXLAN network identifier." },
    { name: "Routing Domain", path: ".spec.routingDomain.l3vni.name", type: "string", doc: "The L3VNI whose VRF it belongs to." },
    { name: "Gateway IPs", path: ".spec.gatewayIPs", type: "string", doc: "The gateway addresses that every node answers for." },
    AGE,
  ],
  spec: s.object(
    {
      routingDomain: s.optional(routingDomain),
      vni: vni("The VXLAN network identifier. No other L2VNI or L3VNI on the same node may use it."),
      underlayAddressFamily: s.optional(underlayAddressFamily()),
      vxlanPort: vxlanPort(),
      hostMaster: s.optional(hostMaster),
      gatewayIPs: s.optional(
        s.list(s.string({ doc: "An address with the length of its subnet, such as 192.0.2.1/24.", maxLength: 64 }), {
          doc: "The gateway of the broadcast domain, the same on every node: at most one IPv4 and one IPv6 address. Immutable: delete and recreate the object to change it.",
          maxItems: 2,
          rules: [oneOfEachFamily("gatewayIPs")],
        }),
      ),
      nodeSelector: s.optional(nodeSelector()),
    },
    {
      doc: "The desired state.",
      rules: [
        rule({
          cel: "!has(self.gatewayIPs) || self.gatewayIPs.size() == 0 || has(self.routingDomain)",
          message: "gatewayIPs requires routingDomain",
          check: (self) => (self.gatewayIPs ?? []).length === 0 || self.routingDomain !== undefined,
        }),
        rule({
          cel: "has(self.gatewayIPs) == has(oldSelf.gatewayIPs) && (!has(self.gatewayIPs) || self.gatewayIPs == oldSelf.gatewayIPs)",
          message: "gatewayIPs is immutable; delete and recreate the object to change it",
          transition: (self, oldSelf) =>
            self.gatewayIPs?.length === oldSelf.gatewayIPs?.length &&
            (self.gatewayIPs ?? []).every((address, nth) => address === oldSelf.gatewayIPs?.[nth]),
        }),
      ],
    },
  ),
  status: claimsStatus(),
});
export type NetworkL2VNI = Stored<typeof NetworkL2VNI>;

import { defineKind, type Stored } from "../define-kind.ts";
import { fieldOfType, oneOfEachFamily, rule } from "../rule.ts";
import { s } from "../schema.ts";
import {
  AGE,
  claimsStatus,
  gatewayAddresses,
  NETWORK,
  nodeSelector,
  sameGateways,
  underlayAddressFamily,
  vni,
  vxlanPort,
} from "../router-fields.ts";

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
    rules: [fieldOfType(["LinuxBridge", "linuxBridge"], ["OVSBridge", "ovsBridge"])],
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
    rules: [fieldOfType(["L3VNI", "l3vni"], ["L3VPN", "l3vpn"])],
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
      underlayAddressFamily: s.optional(underlayAddressFamily(["IPv4", "IPv6"])),
      vxlanPort: vxlanPort(),
      hostMaster: s.optional(hostMaster),
      gatewayIPs: gatewayAddresses([oneOfEachFamily("gatewayIPs")]),
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
        sameGateways("gatewayIPs"),
      ],
    },
  ),
  status: claimsStatus(),
});
export type NetworkL2VNI = Stored<typeof NetworkL2VNI>;

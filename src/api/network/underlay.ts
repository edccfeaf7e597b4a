import { defineKind, type Stored } from "../define-kind.ts";
import { nodeSelector } from "../openpe/node-selector.ts";
import { gracefulRestart, interfaceName, tunnelEndpoint } from "../openpe/underlay.ts";
import { isis, srv6, SRV6_RULES } from "../openpe/segment-routing.ts";
import { rule } from "../rule.ts";
import { s } from "../schema.ts";
import { AGE, claimsStatus, NETWORK } from "./fields.ts";
import { neighbor } from "./neighbor.ts";

const anyFields = (doc: string) => s.optional(s.object({}, { doc, preserveUnknownFields: true }));

const cniDevice = s.object(
  {
    type: s.enum(["RawConfig"], { doc: "How the device is described." }),
    rawConfig: anyFields("A CNI configuration list."),
    interfaceName: s.default(interfaceName("The name of the device in the router's namespace."), "net1"),
    runtimeConfig: anyFields("Runtime configuration for plugins that declare the capability."),
  },
  {
    doc: "A device that CNI plugins make. Not supported by this version.",
    rules: [
      rule({
        cel: "has(self.rawConfig)",
        message: "type RawConfig requires rawConfig",
        check: (self) => self.rawConfig !== undefined,
      }),
    ],
  },
);

const underlayInterface = s.object(
  {
    type: s.enum(["NetworkDevice", "CNIDevice"], {
      doc: "What kind of interface it is. Set the field of that type and leave the other one empty.",
    }),
    networkDevice: s.optional(
      s.object({ interfaceName: interfaceName("An interface of the node.", 1) }, { doc: "An interface of the node." }),
    ),
    cniDevice: s.optional(cniDevice),
  },
  {
    doc: "An interface to the fabric.",
    rules: [
      rule({
        cel: "self.type == 'NetworkDevice' ? has(self.networkDevice) && !has(self.cniDevice) : has(self.cniDevice) && !has(self.networkDevice)",
        message: "type NetworkDevice allows only networkDevice, type CNIDevice only cniDevice",
        check: ({ type, networkDevice, cniDevice: cni }) =>
          (type === "NetworkDevice" ? networkDevice && !cni : cni && !networkDevice) === true,
      }),
    ],
  },
);

const routeReflector = s.object(
  {
    clusterID: s.default(
      s.string({ doc: "The cluster id, an IPv4 address outside routerIDCIDR.", minLength: 7, maxLength: 15 }),
      "192.0.2.1",
    ),
  },
  { doc: "Makes the router a route reflector. Not supported by this version." },
);

export const NetworkUnderlay = defineKind({
  ...NETWORK,
  kind: "Underlay",
  plural: "underlays",
  doc: "Connects the router on the selected nodes to the fabric: interfaces, AS number, neighbors and VTEP. All other router resources of a node depend on it. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "ASN", path: ".spec.asn", type: "integer", doc: "The router's AS number." },
    { name: "Router ID Pool", path: ".spec.routerIDCIDR", type: "string", doc: "Where router ids come from." },
    { name: "VTEP CIDR", path: ".spec.tunnelEndpoint.cidrs", type: "string", doc: "Where VTEP addresses come from." },
    {
      name: "Interfaces",
      path: ".spec.interfaces[*].networkDevice.interfaceName",
      type: "string",
      doc: "The interfaces to the fabric.",
      wide: true,
    },
    AGE,
  ],
  spec: s.object(
    {
      asn: s.int({ doc: "The router's AS number.", minimum: 1, maximum: 4_294_967_295 }),
      routerIDCIDR: s.default(
        s.string({ doc: "The IPv4 prefix that each node's router id is taken from, by the node's index.", maxLength: 64 }),
        "10.0.0.0/24",
      ),
      neighbors: s.list(neighbor, { doc: "The router's BGP neighbors.", minItems: 1, maxItems: 128 }),
      interfaces: s.list(underlayInterface, {
        doc: "The node's interfaces to the fabric, all of one type. Each is moved into the router's namespace with its addresses and routes.",
        minItems: 1,
        maxItems: 16,
        rules: [
          rule({
            cel: "self.all(one, one.type == self[0].type)",
            message: "all interfaces must be of one type",
            check: (self) => self.every(({ type }) => type === self[0]?.type),
          }),
        ],
      }),
      tunnelEndpoint: s.optional(tunnelEndpoint("")),
      gracefulRestart: s.optional(gracefulRestart),
      isis: s.optional(isis(["IPv4", "IPv6", "DualStack"])),
      srv6: s.optional(
        srv6({
          encapBehavior: s.optional(s.enum(["H.Encaps", "H.Encaps.Red"], { doc: "How packets are encapsulated. Default: H.Encaps." })),
        }),
      ),
      routeReflector: s.optional(routeReflector),
      nodeSelector: s.optional(nodeSelector()),
    },
    {
      doc: "The desired state.",
      rules: SRV6_RULES,
    },
  ),
  status: claimsStatus(),
});
export type NetworkUnderlay = Stored<typeof NetworkUnderlay>;

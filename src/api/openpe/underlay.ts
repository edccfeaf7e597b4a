import { defineKind, type Stored } from "../define-kind.ts";
import { notBoth, oneOfEachFamily, rule } from "../rule.ts";
import { s } from "../schema.ts";
import { isis, srv6, SRV6_RULES } from "./segment-routing.ts";
import { neighbor } from "./neighbor.ts";
import { AGE, asNumber, claimsStatus, nodeSelector, OPENPE } from "../router-fields.ts";

const evpn = s.object(
  {
    vtepcidr: s.optional(
      s.string({ doc: "The IPv4 prefix that each node's VTEP address is taken from, by the node's index: 100.65.0.0/24.", maxLength: 64 }),
    ),
    vtepInterface: s.optional(interfaceName("The interface whose first IPv4 address is the VTEP address.")),
  },
  {
    doc: "Makes the router an EVPN provider edge. VNIs require it. Set exactly one source of the VTEP address.",
    rules: [
      rule({
        cel: "(has(self.vtepcidr) && self.vtepcidr != '') != (has(self.vtepInterface) && self.vtepInterface != '')",
        message: "exactly one of vtepcidr and vtepInterface must be set",
        check: (self) => Boolean(self.vtepcidr) !== Boolean(self.vtepInterface),
      }),
    ],
  },
);

export const tunnelEndpoint = (older: string) =>
  s.object(
    {
      cidrs: s.list(s.string({ doc: "A prefix such as 100.65.0.0/24.", maxLength: 64 }), {
        doc: "The prefixes that each node's VTEP addresses are taken from, by the node's index: at most one of each family.",
        minItems: 1,
        maxItems: 2,
        rules: [oneOfEachFamily("tunnelEndpoint.cidrs")],
      }),
    },
    { doc: `Makes the router an EVPN provider edge. VNIs require it.${older}` },
  );

const underlayInterface = s.object(
  {
    type: s.enum(["NetworkDevice"], { doc: "What kind of interface it is." }),
    networkDevice: s.optional(
      s.object({ interfaceName: interfaceName("An interface of the node.", 1) }, { doc: "An interface of the node." }),
    ),
  },
  {
    doc: "An interface to the fabric.",
    rules: [
      rule({
        cel: "self.type != 'NetworkDevice' || has(self.networkDevice)",
        message: "type NetworkDevice requires networkDevice",
        check: ({ networkDevice }) => networkDevice !== undefined,
      }),
    ],
  },
);

export const gracefulRestart = s.object(
  {
    restartTimeSeconds: s.default(
      s.int({ doc: "How long neighbors keep the routes of a restarting router, in seconds.", minimum: 1, maximum: 4095 }),
      120,
    ),
    stalePathTimeSeconds: s.default(
      s.int({ doc: "How long the router keeps the routes of a restarting neighbor, in seconds.", minimum: 1, maximum: 4095 }),
      360,
    ),
  },
  { doc: "BGP graceful restart with all neighbors. Empty: with FRR's own times." },
);

export const Underlay = defineKind({
  ...OPENPE,
  kind: "Underlay",
  plural: "underlays",
  doc: "Connects the router on the selected nodes to the fabric: interfaces, AS number, neighbors and VTEP. All other router resources of a node depend on it. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "ASN", path: ".spec.asn", type: "integer", doc: "The router's AS number." },
    { name: "NICs", path: ".spec.nics", type: "string", doc: "The interfaces to the fabric (v0.1)." },
    {
      name: "Interfaces",
      path: ".spec.interfaces[*].networkDevice.interfaceName",
      type: "string",
      doc: "The interfaces to the fabric (v0.2).",
    },
    { name: "VTEP CIDR", path: ".spec.evpn.vtepcidr", type: "string", doc: "Where VTEP addresses come from (v0.1).", wide: true },
    { name: "VTEP CIDRs", path: ".spec.tunnelEndpoint.cidrs", type: "string", doc: "Where VTEP addresses come from (v0.2).", wide: true },
    { name: "Router ID CIDR", path: ".spec.routeridcidr", type: "string", doc: "Where router ids come from.", wide: true },
    AGE,
  ],
  spec: s.object(
    {
      asn: asNumber("The router's AS number."),
      routeridcidr: s.default(
        s.string({ doc: "The IPv4 prefix that each node's router id is taken from, by the node's index.", maxLength: 64 }),
        "10.0.0.0/24",
      ),
      neighbors: s.optional(s.list(neighbor, { doc: "The router's BGP neighbors, at least one.", minItems: 1, maxItems: 128 })),
      nics: s.optional(
        s.list(interfaceName("An interface of the node."), {
          doc: "The node's interfaces to the fabric. Each is moved into the router's namespace with its addresses and routes. v0.2: interfaces.",
          maxItems: 16,
        }),
      ),
      interfaces: s.optional(
        s.list(underlayInterface, {
          doc: "The node's interfaces to the fabric. Each is moved into the router's namespace with its addresses and routes. v0.1: nics.",
          minItems: 1,
          maxItems: 16,
        }),
      ),
      evpn: s.optional(evpn),
      tunnelEndpoint: s.optional(tunnelEndpoint(" v0.1: evpn.")),
      gracefulRestart: s.optional(gracefulRestart),
      isis: s.optional(isis(["ipv4", "ipv6", "dualstack"])),
      srv6: s.optional(srv6({})),
      nodeSelector: s.optional(nodeSelector()),
    },
    { doc: "The desired state.", rules: [notBoth("nics", "interfaces"), notBoth("evpn", "tunnelEndpoint"), ...SRV6_RULES] },
  ),
  status: claimsStatus(),
});
export type Underlay = Stored<typeof Underlay>;

/** A name that the kernel allows, without unusual characters. */
export function interfaceName(doc: string, minLength = 0) {
  return s.string({ doc, ...(minLength > 0 && { minLength }), maxLength: 15, pattern: "^[a-zA-Z][a-zA-Z0-9._-]*$" });
}

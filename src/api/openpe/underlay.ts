import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { rule } from "../rule.ts";
import { s } from "../schema.ts";
import { nodeSelector } from "./node-selector.ts";

const asNumber = { minimum: 1, maximum: 4_294_967_295 };

const interval = (doc: string) => s.optional(s.int({ doc: `${doc} In milliseconds.`, minimum: 10, maximum: 60_000 }));

const bfd = s.object(
  {
    receiveInterval: interval("The shortest interval at which control packets can be received."),
    transmitInterval: interval("The shortest interval at which control packets are sent."),
    detectMultiplier: s.optional(s.int({ doc: "How many packets may be missed before the session is down.", minimum: 2, maximum: 255 })),
    echoInterval: interval("The shortest interval at which echo packets are handled."),
    echoMode: s.optional(s.bool({ doc: "Whether echo packets are sent." })),
    passiveMode: s.optional(s.bool({ doc: "Whether to wait for the neighbor's first packet before sending any." })),
    minimumTtl: s.optional(
      s.int({ doc: "The lowest TTL of an incoming packet, for a neighbor several hops away.", minimum: 1, maximum: 254 }),
    ),
  },
  { doc: "BFD for this session. Empty: with FRR's own timers." },
);

/** Usually the top-of-rack switch. */
const neighbor = s.object(
  {
    asn: s.int({ doc: "The neighbor's AS number. Equal to the router's own: an internal session.", ...asNumber }),
    hostasn: s.optional(
      s.int({ doc: "Accepted for compatibility with existing manifests, and ignored.", minimum: 0, maximum: 4_294_967_295 }),
    ),
    address: s.string({ doc: "The neighbor's address, IPv4 or IPv6.", maxLength: 64 }),
    port: s.optional(s.int({ doc: "The TCP port to connect to. Default: 179.", minimum: 0, maximum: 16_384 })),
    password: s.optional(
      s.string({
        doc: "The TCP MD5 password of the session. Everyone who can read this object can read it; prefer passwordSecret.",
        maxLength: 128,
      }),
    ),
    passwordSecret: s.optional(
      s.string({
        doc: "The name of a Secret in this namespace whose key `password` holds the TCP MD5 password of the session.",
        maxLength: 253,
      }),
    ),
    holdTime: s.optional(s.duration({ doc: "The BGP hold time: 0, or at least 3s. Set it together with keepaliveTime." })),
    keepaliveTime: s.optional(s.duration({ doc: "The interval between keepalives, at most holdTime. Set it together with holdTime." })),
    connectTime: s.optional(s.duration({ doc: "The interval between connection attempts: 1s to 65535s, whole seconds." })),
    ebgpMultiHop: s.optional(s.bool({ doc: "Whether the neighbor may be several hops away." })),
    bfd: s.optional(bfd),
  },
  {
    doc: "A BGP neighbor of the router.",
    rules: [
      rule({
        cel: "!has(self.hostasn) || self.hostasn != self.asn",
        message: "hostasn must differ from asn",
        check: (self) => self.hostasn === undefined || self.hostasn !== self.asn,
      }),
    ],
  },
);

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

export const Underlay = defineKind({
  group: "openpe.openperouter.github.io",
  version: "v1alpha1",
  kind: "Underlay",
  plural: "underlays",
  scope: "Namespaced",
  categories: ["plumbline", "openperouter"],
  doc: "Connects the router on the selected nodes to the fabric: interfaces, AS number, neighbors and VTEP. All other router resources of a node depend on it. The RouterNodeConfigurationStatus of each node has the result.",
  columns: [
    { name: "ASN", path: ".spec.asn", type: "integer", doc: "The router's AS number." },
    { name: "NICs", path: ".spec.nics", type: "string", doc: "The interfaces to the fabric." },
    { name: "VTEP CIDR", path: ".spec.evpn.vtepcidr", type: "string", doc: "Where VTEP addresses come from.", wide: true },
    { name: "Router ID CIDR", path: ".spec.routeridcidr", type: "string", doc: "Where router ids come from.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  spec: s.object(
    {
      asn: s.int({ doc: "The router's AS number.", minimum: 1, maximum: 4_294_967_295 }),
      routeridcidr: s.default(
        s.string({ doc: "The IPv4 prefix that each node's router id is taken from, by the node's index.", maxLength: 64 }),
        "10.0.0.0/24",
      ),
      neighbors: s.optional(s.list(neighbor, { doc: "The router's BGP neighbors, at least one.", minItems: 1, maxItems: 128 })),
      nics: s.optional(
        s.list(interfaceName("An interface of the node."), {
          doc: "The node's interfaces to the fabric. Each is moved into the router's namespace with its addresses and routes.",
          maxItems: 16,
        }),
      ),
      evpn: s.optional(evpn),
      nodeSelector: s.optional(nodeSelector()),
    },
    { doc: "The desired state." },
  ),
  status: s.object({ claims: s.optional(claims()) }, { doc: "The state of this object in the cluster, written by the controller." }),
});
export type Underlay = Stored<typeof Underlay>;

/** A name that the kernel allows, without unusual characters. */
function interfaceName(doc: string) {
  return s.string({ doc, maxLength: 15, pattern: "^[a-zA-Z][a-zA-Z0-9._-]*$" });
}

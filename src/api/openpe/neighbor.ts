import { NEIGHBOR_RULES } from "./neighbor-rules.ts";
import { exactlyOneOf, notBoth, rule } from "../rule.ts";
import { s } from "../schema.ts";

const asNumber = { minimum: 1, maximum: 4_294_967_295 };

export const interval = (doc: string) => s.optional(s.int({ doc: `${doc} In milliseconds.`, minimum: 10, maximum: 60_000 }));

const bfd = s.object(
  {
    receiveInterval: interval("The shortest interval at which control packets can be received."),
    transmitInterval: interval("The shortest interval at which control packets are sent."),
    detectMultiplier: s.optional(s.int({ doc: "How many packets may be missed before the session is down.", minimum: 2, maximum: 255 })),
    echoInterval: interval("The shortest interval at which echo packets are handled."),
    echoMode: s.optional(s.bool({ doc: "Whether echo packets are sent." })),
    passiveMode: s.optional(s.bool({ doc: "Whether to wait for the neighbor's first packet before sending any." })),
    minimumTtl: s.optional(
      s.int({ doc: "The lowest TTL of an incoming packet, for a neighbor several hops away. v0.2: minimumTTL.", minimum: 1, maximum: 254 }),
    ),
    minimumTTL: s.optional(
      s.int({ doc: "The lowest TTL of an incoming packet, for a neighbor several hops away. v0.1: minimumTtl.", minimum: 1, maximum: 254 }),
    ),
  },
  { doc: "BFD for this session. Empty: with FRR's own timers.", rules: [notBoth("minimumTtl", "minimumTTL")] },
);

export const timer = (doc: string, minimum: number) => s.optional(s.int({ doc: `${doc} In seconds.`, minimum, maximum: 65_535 }));

const addressFamily = s.object(
  {
    type: s.enum(["ipv4unicast", "ipv6unicast", "evpn", "ipv4vpn", "ipv6vpn"], {
      doc: "The address family. ipv4vpn and ipv6vpn are not supported by this version.",
    }),
  },
  { doc: "An address family of the session." },
);

const property = s.object(
  {
    type: s.enum(["ebgpMultiHop"], { doc: "What the property is about." }),
    ebgpMultiHop: s.optional(
      s.object(
        {
          ttl: s.optional(s.int({ doc: "How many hops away the neighbor may be. Default: 255.", minimum: 1, maximum: 255 })),
        },
        { doc: "The neighbor may be several hops away." },
      ),
    ),
  },
  {
    doc: "A property of the session.",
    rules: [
      rule({
        cel: "has(self.ebgpMultiHop)",
        message: "type ebgpMultiHop requires ebgpMultiHop",
        check: ({ ebgpMultiHop }) => ebgpMultiHop !== undefined,
      }),
    ],
  },
);

export const sessionProperties = (doc: string) => s.optional(s.listMap(["type"], property, { doc, maxItems: 1 }));

/** A BGP neighbor of the router: as a rule the top-of-rack switch. */
export const neighbor = s.object(
  {
    asn: s.optional(s.int({ doc: "The neighbor's AS number. Equal to the router's own: an internal session.", ...asNumber })),
    type: s.optional(
      s.enum(["external", "internal"], {
        doc: "Instead of asn: the neighbor has any other AS number than the router (external), or the same (internal).",
      }),
    ),
    hostasn: s.optional(
      s.int({ doc: "Accepted for compatibility with existing manifests, and ignored.", minimum: 0, maximum: 4_294_967_295 }),
    ),
    address: s.optional(s.string({ doc: "The neighbor's address, IPv4 or IPv6.", maxLength: 64 })),
    interface: s.optional(
      s.string({
        doc: "Instead of address: the interface of the Underlay that leads to the neighbor. The session uses IPv6 link-local addresses.",
        minLength: 1,
        maxLength: 15,
        pattern: "^[^/:\\s]+$",
      }),
    ),
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
    holdTimeSeconds: timer("The BGP hold time: 0, or at least 3. Set it together with keepaliveTimeSeconds.", 0),
    keepaliveTimeSeconds: timer("The interval between keepalives, at most holdTimeSeconds. Set it together with holdTimeSeconds.", 0),
    connectTimeSeconds: timer("The interval between connection attempts.", 1),
    ebgpMultiHop: s.optional(s.bool({ doc: "Whether the neighbor may be several hops away, up to 255." })),
    properties: sessionProperties("Properties of the session, as in OpenPERouter's main: ebgpMultiHop with a ttl."),
    bfd: s.optional(bfd),
    addressFamilies: s.optional(
      s.listMap(["type"], addressFamily, {
        doc: "The address families of the session, exactly these. Default: unicast of the session's own family, in v0.2 also of the VTEPs and of the L3Passthrough, and evpn if the Underlay has VTEPs.",
        maxItems: 4,
      }),
    ),
  },
  {
    doc: "A BGP neighbor of the router.",
    rules: [
      exactlyOneOf("asn", "type"),
      exactlyOneOf("address", "interface"),
      notBoth("holdTime", "holdTimeSeconds"),
      notBoth("keepaliveTime", "keepaliveTimeSeconds"),
      notBoth("connectTime", "connectTimeSeconds"),
      notBoth("ebgpMultiHop", "properties"),
      rule({
        cel: "(!has(self.holdTimeSeconds) || has(self.keepaliveTimeSeconds) || has(self.keepaliveTime)) && (!has(self.keepaliveTimeSeconds) || has(self.holdTimeSeconds) || has(self.holdTime))",
        message: "holdTimeSeconds and keepaliveTimeSeconds must be set together",
        check: ({ holdTime, holdTimeSeconds: hold, keepaliveTime, keepaliveTimeSeconds: keepalive }) =>
          (hold === undefined || (keepalive ?? keepaliveTime) !== undefined) &&
          (keepalive === undefined || (hold ?? holdTime) !== undefined),
      }),
      ...NEIGHBOR_RULES,
      rule({
        cel: "!has(self.hostasn) || !has(self.asn) || self.hostasn != self.asn",
        message: "hostasn must differ from asn",
        check: (self) => self.hostasn === undefined || self.hostasn !== self.asn,
      }),
    ],
  },
);

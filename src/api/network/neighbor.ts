import { interval, sessionProperties, timer } from "../openpe/neighbor.ts";
import { NEIGHBOR_RULES } from "../openpe/neighbor-rules.ts";
import { exactlyOneOf, rule } from "../rule.ts";
import { s } from "../schema.ts";

const asNumber = { minimum: 1, maximum: 4_294_967_295 };

const bfd = s.object(
  {
    receiveInterval: interval("The shortest interval at which control packets can be received."),
    transmitInterval: interval("The shortest interval at which control packets are sent."),
    detectMultiplier: s.optional(s.int({ doc: "How many packets may be missed before the session is down.", minimum: 2, maximum: 255 })),
    sessionMode: s.optional(
      s.enum(["Active", "Passive"], { doc: "Passive: wait for the neighbor's first packet before sending any. Default: Active." }),
    ),
    minimumTTL: s.optional(
      s.int({ doc: "The lowest TTL of an incoming packet, for a neighbor several hops away.", minimum: 1, maximum: 254 }),
    ),
  },
  { doc: "BFD for this session. Empty: with FRR's own timers." },
);

const addressFamily = s.object(
  {
    type: s.enum(["ipv4unicast", "ipv6unicast", "evpn", "ipv4vpn", "ipv6vpn"], {
      doc: "The address family. ipv4vpn and ipv6vpn are not supported by this version.",
    }),
    properties: s.optional(
      s.listMap(
        ["type"],
        s.object({ type: s.enum(["routeReflectorClient"], { doc: "What the property is about." }) }, { doc: "A property." }),
        { doc: "Properties of the address family. Not supported by this version.", maxItems: 8 },
      ),
    ),
  },
  { doc: "An address family of the session." },
);

/** A BGP neighbor of the router: as a rule the top-of-rack switch. */
export const neighbor = s.object(
  {
    asn: s.optional(s.int({ doc: "The neighbor's AS number. Equal to the router's own: an internal session.", ...asNumber })),
    type: s.optional(
      s.enum(["External", "Internal"], {
        doc: "Instead of asn: the neighbor has any other AS number than the router (External), or the same (Internal).",
      }),
    ),
    address: s.optional(s.string({ doc: "The neighbor's address, IPv4 or IPv6.", maxLength: 39 })),
    interface: s.optional(
      s.string({
        doc: "Instead of address: the interface of the Underlay that leads to the neighbor. The session uses IPv6 link-local addresses.",
        minLength: 1,
        maxLength: 15,
        pattern: "^[^/:\\s]+$",
      }),
    ),
    listenRange: s.optional(
      s.string({
        doc: "Instead of address: every neighbor of this prefix may connect. Not supported by this version.",
        maxLength: 43,
        rules: [
          rule({
            cel: "!self.matches('^[fF][eE][89abAB]')",
            message: "listenRange must not be link-local",
            check: (self) => !/^fe[89ab]/i.test(self),
          }),
        ],
      }),
    ),
    port: s.optional(s.int({ doc: "The TCP port to connect to. Default: 179.", minimum: 0, maximum: 16_384 })),
    password: s.optional(
      s.string({
        doc: "The TCP MD5 password of the session. Everyone who can read this object can read it; prefer passwordSecret.",
        maxLength: 128,
        pattern: "^\\S+$",
      }),
    ),
    passwordSecret: s.optional(
      s.string({
        doc: "The name of a Secret in this namespace whose key `password` holds the TCP MD5 password of the session.",
        maxLength: 253,
      }),
    ),
    holdTimeSeconds: timer("The BGP hold time: 0, or at least 3. Set it together with keepaliveTimeSeconds.", 0),
    keepaliveTimeSeconds: timer("The interval between keepalives, at most holdTimeSeconds. Set it together with holdTimeSeconds.", 0),
    connectTimeSeconds: timer("The interval between connection attempts.", 1),
    properties: sessionProperties("Properties of the session."),
    bfd: s.optional(bfd),
    addressFamilies: s.optional(
      s.listMap(["type"], addressFamily, {
        doc: "The address families of the session, exactly these. Default: unicast of the session's own family, and evpn if the Underlay has a VTEP.",
        maxItems: 4,
      }),
    ),
  },
  {
    doc: "A BGP neighbor of the router.",
    rules: [
      exactlyOneOf("asn", "type"),
      exactlyOneOf("address", "interface", "listenRange"),
      rule({
        cel: "has(self.holdTimeSeconds) == has(self.keepaliveTimeSeconds)",
        message: "holdTimeSeconds and keepaliveTimeSeconds must be set together",
        check: (self) => (self.holdTimeSeconds === undefined) === (self.keepaliveTimeSeconds === undefined),
      }),
      ...NEIGHBOR_RULES,
      rule({
        cel: "!has(self.addressFamilies) || !self.addressFamilies.exists(f, has(f.properties) && f.properties.size() > 0) || (has(self.type) && self.type == 'Internal')",
        message: "routeReflectorClient requires type Internal",
        check: ({ addressFamilies: families = [], type }) =>
          !families.some(({ properties = [] }) => properties.length > 0) || type === "Internal",
      }),
    ],
  },
);

import { sessionProperties } from "../openpe/neighbor.ts";
import { NEIGHBOR_RULES } from "../openpe/neighbor-rules.ts";
import {
  ADDRESS_FAMILIES,
  addressFamilyType,
  asNumber,
  bfdTimers,
  neighborInterface,
  portAndPassword,
  timersInSeconds,
} from "../router-fields.ts";
import { exactlyOneOf, rule } from "../rule.ts";
import { s } from "../schema.ts";

const bfd = s.object(
  {
    ...bfdTimers(),
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
    type: addressFamilyType(),
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
    asn: s.optional(asNumber("The neighbor's AS number. Equal to the router's own: an internal session.")),
    type: s.optional(
      s.enum(["External", "Internal"], {
        doc: "Instead of asn: the neighbor has any other AS number than the router (External), or the same (Internal).",
      }),
    ),
    address: s.optional(s.string({ doc: "The neighbor's address, IPv4 or IPv6.", maxLength: 39 })),
    interface: neighborInterface(),
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
    ...portAndPassword({ pattern: "^\\S+$" }),
    ...timersInSeconds(),
    properties: sessionProperties("Properties of the session."),
    bfd: s.optional(bfd),
    addressFamilies: s.optional(s.listMap(["type"], addressFamily, ADDRESS_FAMILIES)),
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

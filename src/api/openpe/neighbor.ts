import { NEIGHBOR_RULES } from "./neighbor-rules.ts";
import { exactlyOneOf, notBoth, rule } from "../rule.ts";
import {
  ADDRESS_FAMILIES,
  addressFamilyType,
  asNumber,
  bfdTimers,
  interval,
  neighborInterface,
  portAndPassword,
  timersInSeconds,
} from "../router-fields.ts";
import { s } from "../schema.ts";

const bfd = s.object(
  {
    ...bfdTimers(),
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

const addressFamily = s.object(
  {
    type: addressFamilyType(),
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
    asn: s.optional(asNumber("The neighbor's AS number. Equal to the router's own: an internal session.")),
    type: s.optional(
      s.enum(["external", "internal"], {
        doc: "Instead of asn: the neighbor has any other AS number than the router (external), or the same (internal).",
      }),
    ),
    hostasn: s.optional(asNumber("Accepted for compatibility with existing manifests, and ignored.", 0)),
    address: s.optional(s.string({ doc: "The neighbor's address, IPv4 or IPv6.", maxLength: 64 })),
    interface: neighborInterface(),
    ...portAndPassword({}),
    holdTime: s.optional(s.duration({ doc: "The BGP hold time: 0, or at least 3s. Set it together with keepaliveTime." })),
    keepaliveTime: s.optional(s.duration({ doc: "The interval between keepalives, at most holdTime. Set it together with holdTime." })),
    connectTime: s.optional(s.duration({ doc: "The interval between connection attempts: 1s to 65535s, whole seconds." })),
    ...timersInSeconds(),
    ebgpMultiHop: s.optional(s.bool({ doc: "Whether the neighbor may be several hops away, up to 255." })),
    properties: sessionProperties("Properties of the session, as in OpenPERouter's main: ebgpMultiHop with a ttl."),
    bfd: s.optional(bfd),
    addressFamilies: s.optional(
      s.listMap(["type"], addressFamily, {
        ...ADDRESS_FAMILIES,
        doc: "The address families of the session, exactly these. Default: unicast of the session's own family, in v0.2 also of the VTEPs and of the L3Passthrough, and evpn if the Underlay has VTEPs.",
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

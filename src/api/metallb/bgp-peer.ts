import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { seconds } from "../../util/duration.ts";
import { rule, type Rule } from "../rule.ts";
import { s } from "../schema.ts";

const AS_NUMBERS = { minimum: 0, maximum: 4_294_967_295 };

// Short enough for the rules, which the server also evaluates if the pattern does not match.
const CONNECT_TIME = "^([0-9]{1,5}(\\.[0-9]{0,9})?(ms|s|m|h)){1,3}$";

/** A rule about the seconds of a valid connect time. */
function connectTimeRule(message: string, cel: string, holds: (seconds: number) => boolean): Rule<string> {
  return rule({
    cel: `!self.matches('${CONNECT_TIME.replaceAll("\\", "\\\\")}') || (${cel})`,
    message,
    check: (self) => !new RegExp(CONNECT_TIME).test(self) || holds(seconds(self) ?? 0),
  });
}

const connectTime = s.string({
  doc: "The time between connection attempts: 1s to 65535s, whole seconds.",
  maxLength: 64,
  pattern: CONNECT_TIME,
  rules: [
    connectTimeRule(
      "connect time should be between 1 seconds to 65535",
      "duration(self).getSeconds() >= 1 && duration(self).getSeconds() <= 65535",
      (seconds) => Math.trunc(seconds) >= 1 && Math.trunc(seconds) <= 65_535,
    ),
    connectTimeRule(
      "connect time should contain a whole number of seconds",
      "duration(self).getMilliseconds() % 1000 == 0",
      (seconds) => Math.trunc(seconds * 1000) % 1000 === 0,
    ),
  ],
});

export const BGPPeer = defineKind({
  group: "metallb.io",
  version: "v1beta2",
  kind: "BGPPeer",
  plural: "bgppeers",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  deprecated: [
    { version: "v1beta1", warning: "metallb.io/v1beta1 BGPPeer is deprecated; use metallb.io/v1beta2, which has the same fields" },
  ],
  doc: "A BGP router that the selected nodes peer with. A BGPSessionStatus per node reports the session.",
  columns: [
    { name: "Address", path: ".spec.peerAddress", type: "string", doc: "The peer's address." },
    { name: "ASN", path: ".spec.peerASN", type: "string", doc: "The peer's AS number." },
    { name: "BFD Profile", path: ".spec.bfdProfile", type: "string", doc: "The BFDProfile of the session." },
    { name: "Multi Hops", path: ".spec.ebgpMultiHop", type: "string", doc: "Whether the peer may be several hops away." },
    { name: "Interface", path: ".spec.interface", type: "string", doc: "The interface of an unnumbered session.", wide: true },
    { name: "VRF", path: ".spec.vrf", type: "string", doc: "The VRF of the session.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  spec: s.object(
    {
      myASN: s.int({ doc: "The local AS number. It must be the same for all peers of a node in one VRF.", ...AS_NUMBERS }),
      peerASN: s.optional(s.int({ doc: "The peer's AS number. Set either this or dynamicASN.", ...AS_NUMBERS })),
      dynamicASN: s.optional(
        s.enum(["internal", "external"], {
          doc: "Takes the peer's AS number from its OPEN message: internal requires myASN, external any other. Set either this or peerASN.",
        }),
      ),
      localASN: s.optional(s.int({ doc: "An AS number that this peer sees instead of myASN.", minimum: 1, maximum: 4_294_967_295 })),
      peerAddress: s.optional(s.string({ doc: "The address to connect to. Set either this or interface.", maxLength: 64 })),
      interface: s.optional(
        s.string({
          doc: "The interface of an unnumbered session. Set either this or peerAddress.",
          maxLength: 64,
        }),
      ),
      sourceAddress: s.optional(s.string({ doc: "The source address of the connection.", maxLength: 64 })),
      peerPort: s.optional(s.int({ doc: "The TCP port to connect to. Defaults to 179.", minimum: 1, maximum: 16_384 })),
      holdTime: s.optional(s.duration({ doc: "The BGP hold time: 0, or at least 3s. If keepaliveTime is unset, it is a third of this." })),
      keepaliveTime: s.optional(
        s.duration({ doc: "The keepalive interval, at most holdTime. If holdTime is unset, it is three times this." }),
      ),
      connectTime: s.optional(connectTime),
      routerID: s.optional(
        s.string({
          doc: "The BGP router ID. It must be the same for all peers of a node. Defaults to the node's IPv4 address.",
          maxLength: 64,
        }),
      ),
      nodeSelectors: s.optional(
        s.list(s.labelSelector({ doc: "Nodes by their labels." }), {
          doc: "The nodes that connect to this peer; selectors are ORed. Empty means all nodes.",
          maxItems: 256,
        }),
      ),
      password: s.optional(
        s.string({
          doc: "The TCP MD5 password of the session, readable by everyone who can read this object. Prefer passwordSecret.",
          maxLength: 256,
        }),
      ),
      passwordSecret: s.optional(
        s.secretReference({
          doc: "A Secret of type kubernetes.io/basic-auth in this namespace whose key `password` holds the TCP MD5 password. Mutually exclusive with password.",
        }),
      ),
      bfdProfile: s.optional(s.string({ doc: "The name of a BFDProfile. If unset, the session does not use BFD.", maxLength: 253 })),
      enableGracefulRestart: s.optional(
        s.bool({
          doc: "Whether to negotiate graceful restart: the peer keeps the routes while FRR restarts. Immutable.",
          rules: [
            rule<boolean>({
              cel: "self == oldSelf",
              message: "EnableGracefulRestart cannot be changed after creation",
              transition: (self, oldSelf) => self === oldSelf,
            }),
          ],
        }),
      ),
      ebgpMultiHop: s.optional(s.bool({ doc: "Whether the peer may be several hops away. Only for eBGP peers." })),
      vrf: s.optional(s.string({ doc: "The VRF to connect from. Defaults to the node's main table.", maxLength: 64 })),
      disableMP: s.optional(s.bool({ doc: "Deprecated and without effect." })),
      dualStackAddressFamily: s.optional(
        s.bool({ doc: "Whether the session carries both IPv4 and IPv6 prefixes, regardless of its own family." }),
      ),
    },
    { doc: "The desired state." },
  ),
  status: s.object({ claims: s.optional(claims()) }, { doc: "What the controller records about this object." }),
});
export type BGPPeer = Stored<typeof BGPPeer>;

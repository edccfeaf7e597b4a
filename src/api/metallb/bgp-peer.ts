import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { seconds } from "../../util/duration.ts";
import { rule, type Rule } from "../rule.ts";
import { s } from "../schema.ts";

const AS_NUMBERS = { minimum: 0, maximum: 4_294_967_295 };

// Short enough that no sum of them is too long for the rules, which the server also asks about what does not fit the pattern.
const CONNECT_TIME = "^([0-9]{1,5}(\\.[0-9]{0,9})?(ms|s|m|h)){1,3}$";

/** A rule about the seconds of a connect time that is one. */
function connectTimeRule(message: string, cel: string, holds: (seconds: number) => boolean): Rule<string> {
  return rule({
    cel: `!self.matches('${CONNECT_TIME.replaceAll("\\", "\\\\")}') || (${cel})`,
    message,
    check: (self) => !new RegExp(CONNECT_TIME).test(self) || holds(seconds(self) ?? 0),
  });
}

const connectTime = s.string({
  doc: "How long to wait between two attempts to connect: 1s to 65535s, whole seconds.",
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
  doc: "A BGP router that the selected nodes speak to. How each session is doing stands in a BGPSessionStatus per node.",
  columns: [
    { name: "Address", path: ".spec.peerAddress", type: "string", doc: "The peer's address." },
    { name: "ASN", path: ".spec.peerASN", type: "string", doc: "The peer's AS number." },
    { name: "BFD Profile", path: ".spec.bfdProfile", type: "string", doc: "The BFDProfile of the session." },
    { name: "Multi Hops", path: ".spec.ebgpMultiHop", type: "string", doc: "Whether the peer may be several hops away." },
    { name: "Interface", path: ".spec.interface", type: "string", doc: "The interface of an unnumbered session.", wide: true },
    { name: "VRF", path: ".spec.vrf", type: "string", doc: "The VRF of the session.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.object(
    {
      myASN: s.int({ doc: "Our AS number. All peers of a node in one VRF must give the same one.", ...AS_NUMBERS }),
      peerASN: s.optional(s.int({ doc: "The peer's AS number. Either this or dynamicASN.", ...AS_NUMBERS })),
      dynamicASN: s.optional(
        s.enum(["internal", "external"], {
          doc: "Takes the peer's AS number from its greeting: internal asks for our own, external for any other. Either this or peerASN.",
        }),
      ),
      localASN: s.optional(s.int({ doc: "An AS number that this peer sees in place of myASN.", minimum: 1, maximum: 4_294_967_295 })),
      peerAddress: s.optional(s.string({ doc: "The address to dial. Either this or interface.", maxLength: 64 })),
      interface: s.optional(
        s.string({
          doc: "The interface at whose other end the peer is, for a session without addresses (unnumbered). Either this or peerAddress.",
          maxLength: 64,
        }),
      ),
      sourceAddress: s.optional(s.string({ doc: "The address to dial from.", maxLength: 64 })),
      peerPort: s.optional(s.int({ doc: "The TCP port to dial. 179 unless given.", minimum: 1, maximum: 16_384 })),
      holdTime: s.optional(
        s.duration({ doc: "How long the session may be silent: 0, or 3s and more. Alone, keepaliveTime is a third of it." }),
      ),
      keepaliveTime: s.optional(
        s.duration({ doc: "How often to send a keepalive, at most holdTime. Alone, holdTime is three times as long." }),
      ),
      connectTime: s.optional(connectTime),
      routerID: s.optional(
        s.string({
          doc: "The BGP router id. All peers of a node must agree on it. Without it the node's own IPv4 address.",
          maxLength: 64,
        }),
      ),
      nodeSelectors: s.optional(
        s.list(s.labelSelector({ doc: "Nodes by their labels." }), {
          doc: "The nodes that speak to this peer; one selector that matches is enough. None: all nodes.",
          maxItems: 256,
        }),
      ),
      password: s.optional(
        s.string({
          doc: "The TCP MD5 password of the session, readable by everyone who may read this object. Better: passwordSecret.",
          maxLength: 256,
        }),
      ),
      passwordSecret: s.optional(
        s.secretReference({
          doc: "A Secret of type kubernetes.io/basic-auth in this namespace whose key `password` holds the TCP MD5 password. Not together with password.",
        }),
      ),
      bfdProfile: s.optional(s.string({ doc: "The name of a BFDProfile; without it the session has no BFD.", maxLength: 253 })),
      enableGracefulRestart: s.optional(
        s.bool({
          doc: "Whether the peer is asked to keep our routes while we restart. Cannot be changed.",
          rules: [
            rule<boolean>({
              cel: "self == oldSelf",
              message: "EnableGracefulRestart cannot be changed after creation",
              transition: (self, oldSelf) => self === oldSelf,
            }),
          ],
        }),
      ),
      ebgpMultiHop: s.optional(s.bool({ doc: "Whether the peer may be several hops away. Only for a peer of another AS." })),
      vrf: s.optional(s.string({ doc: "The VRF to dial from; none is the node's main table.", maxLength: 64 })),
      disableMP: s.optional(s.bool({ doc: "Deprecated and without effect." })),
      dualStackAddressFamily: s.optional(
        s.bool({ doc: "Whether IPv4 and IPv6 prefixes both go over this session, whatever its own family." }),
      ),
    },
    { doc: "What is wanted." },
  ),
  status: s.object({ claims: s.optional(claims()) }, { doc: "What the controller knows about this object as a whole." }),
});
export type BGPPeer = Stored<typeof BGPPeer>;

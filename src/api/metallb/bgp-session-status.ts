import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

/** More runs of missing prefixes are not listed. */
export const MAX_MISSING = 100;

export const BGPSessionStatus = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "BGPSessionStatus",
  plural: "bgpsessionstatuses",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "The session of one node with one BGPPeer, `<node>-<peer>`, as FRR reports it.",
  columns: [
    { name: "Node", path: ".status.node", type: "string", doc: "The node." },
    { name: "Peer", path: ".status.peer", type: "string", doc: "The BGPPeer." },
    { name: "BGP", path: ".status.bgpStatus", type: "string", doc: "The state of the session." },
    { name: "BFD", path: ".status.bfdStatus", type: "string", doc: "The state of BFD." },
    { name: "Sent", path: ".status.prefixes[*].sent", type: "string", doc: "Prefixes sent, by family.", wide: true },
    { name: "Since", path: ".status.since", type: "date", doc: "Time in this state.", wide: true },
    { name: "Last Reset", path: ".status.lastResetReason", type: "string", doc: "The reason of the last reset.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  status: s.object(
    {
      bgpStatus: s.optional(
        s.string({
          doc: "The state of the session as FRR reports it: Established when it is up, Unknown when it is not reported.",
          maxLength: 64,
        }),
      ),
      bfdStatus: s.optional(s.string({ doc: "The state of BFD as FRR reports it: Up when it is up, N/A without BFD.", maxLength: 64 })),
      node: s.optional(s.string({ doc: "The node.", maxLength: 253 })),
      peer: s.optional(s.string({ doc: "The BGPPeer.", maxLength: 253 })),
      address: s.optional(s.string({ doc: "The peer's address, or the interface of an unnumbered session.", maxLength: 64 })),
      vrf: s.optional(s.string({ doc: "The VRF of the session; empty means the node's main table.", maxLength: 64 })),
      since: s.optional(s.time({ doc: "When the session entered this state." })),
      lastResetReason: s.optional(s.string({ doc: "The reason of the last reset, as FRR reports it.", maxLength: 256 })),
      rejection: s.optional(
        s.string({ doc: "Why the peer closed the session, from its NOTIFICATION. Empty while the session is up.", maxLength: 256 }),
      ),
      prefixes: s.optional(
        s.listMap(
          ["family"],
          s.object(
            {
              family: s.enum(["IPv4", "IPv6"], { doc: "The address family." }),
              wanted: s.int({ doc: "Prefixes of Services that the session should send.", minimum: 0, maximum: 2 ** 31 - 1 }),
              sent: s.int({ doc: "How many of them are in FRR's adj-rib-out.", minimum: 0, maximum: 2 ** 31 - 1 }),
              missing: s.optional(
                s.list(
                  s.string({ doc: "A prefix, or the first and the last of several in a row: `10.0.0.1/32-10.0.0.9/32`.", maxLength: 128 }),
                  {
                    doc: "The prefixes that are not sent, in order.",
                    maxItems: MAX_MISSING,
                  },
                ),
              ),
            },
            { doc: "The prefixes of one family." },
          ),
          { doc: "The prefixes of Services that FRR sends over the session, while it is up.", maxItems: 2 },
        ),
      ),
      conditions: s.optional(
        s.conditions({ doc: "Reported: Unknown when the node's agent does not report, False when FRR does not answer." }),
      ),
    },
    { doc: "The state that FRR reports." },
  ),
});
export type BGPSessionStatus = Stored<typeof BGPSessionStatus>;

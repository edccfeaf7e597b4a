import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

export const BGPSessionStatus = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "BGPSessionStatus",
  plural: "bgpsessionstatuses",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "The session of one node with one BGPPeer, `<node>-<peer>`, in FRR's own words.",
  columns: [
    { name: "Node", path: ".status.node", type: "string", doc: "The node." },
    { name: "Peer", path: ".status.peer", type: "string", doc: "The BGPPeer." },
    { name: "BGP", path: ".status.bgpStatus", type: "string", doc: "The state of the session." },
    { name: "BFD", path: ".status.bfdStatus", type: "string", doc: "The state of BFD." },
    { name: "Since", path: ".status.since", type: "date", doc: "For how long it has been in this state.", wide: true },
    { name: "Last Reset", path: ".status.lastResetReason", type: "string", doc: "Why it went down last.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  status: s.object(
    {
      bgpStatus: s.optional(
        s.string({
          doc: "The state of the session in FRR's word: Established when it is up. Unknown when nobody can tell.",
          maxLength: 64,
        }),
      ),
      bfdStatus: s.optional(s.string({ doc: "The state of BFD in FRR's word: Up when it is up; N/A without BFD.", maxLength: 64 })),
      node: s.optional(s.string({ doc: "The node.", maxLength: 253 })),
      peer: s.optional(s.string({ doc: "The BGPPeer.", maxLength: 253 })),
      address: s.optional(s.string({ doc: "The peer's address, or the interface of an unnumbered session.", maxLength: 64 })),
      vrf: s.optional(s.string({ doc: "The VRF of the session; none is the node's main table.", maxLength: 64 })),
      since: s.optional(s.time({ doc: "Since when the session is in this state." })),
      lastResetReason: s.optional(s.string({ doc: "Why the session went down last, in FRR's words.", maxLength: 256 })),
      conditions: s.optional(
        s.conditions({ doc: "Reported: Unknown when the agent of the node has fallen silent, and False when FRR does not answer it." }),
      ),
    },
    { doc: "What FRR says." },
  ),
});
export type BGPSessionStatus = Stored<typeof BGPSessionStatus>;

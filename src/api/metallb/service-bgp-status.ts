import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

const peers = (doc: string) => s.set(s.string({ doc: "The name of a BGPPeer.", maxLength: 253 }), { doc, maxItems: 1024 });

export const ServiceBGPStatus = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "ServiceBGPStatus",
  plural: "servicebgpstatuses",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "The BGPPeers to which one node announces one Service, `<service>-<node>`, in the namespace of the Service. The BGPSessionStatus objects report whether the sessions are up.",
  columns: [
    { name: "Service", path: ".status.service", type: "string", doc: "The Service." },
    { name: "Node", path: ".status.node", type: "string", doc: "The node." },
    { name: "Peers", path: ".status.bgpPeers", type: "string", doc: "The BGPPeers." },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  status: s.object(
    {
      bgpPeers: s.optional(peers("The BGPPeers to which at least one address of the Service is announced.")),
      node: s.optional(s.string({ doc: "The node that announces.", maxLength: 253 })),
      service: s.optional(s.string({ doc: "The Service.", maxLength: 253 })),
      families: s.optional(
        s.listMap(
          ["family"],
          s.object(
            {
              family: s.enum(["IPv4", "IPv6"], { doc: "The family of the addresses." }),
              peers: peers("The BGPPeers to which they are announced."),
            },
            { doc: "The addresses of one family." },
          ),
          { doc: "The peers by the family of the addresses.", maxItems: 2 },
        ),
      ),
      advertisements: s.optional(
        s.set(s.string({ doc: "The name of a BGPAdvertisement.", maxLength: 253 }), {
          doc: "The BGPAdvertisements that contribute.",
          maxItems: 1024,
        }),
      ),
      conditions: s.optional(s.conditions({ doc: "Reported: Unknown when the node's agent does not report." })),
    },
    { doc: "What the node announces." },
  ),
});
export type ServiceBGPStatus = Stored<typeof ServiceBGPStatus>;

import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

export const ServiceL2Status = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "ServiceL2Status",
  plural: "servicel2statuses",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "Which node answers for the addresses of one Service on the local network; it has the name and the namespace of the Service.",
  columns: [
    { name: "Node", path: ".status.node", type: "string", doc: "The node that answers." },
    { name: "Interfaces", path: ".status.interfaces[*].name", type: "string", doc: "The interfaces; none is all." },
    {
      name: "Announced",
      path: '.status.conditions[?(@.type=="Announced")].status',
      type: "string",
      doc: "Whether it holds the addresses.",
      wide: true,
    },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  status: s.object(
    {
      node: s.optional(s.string({ doc: "The elected node.", maxLength: 253 })),
      service: s.optional(s.string({ doc: "The Service.", maxLength: 253 })),
      interfaces: s.optional(
        s.listMap(["name"], s.object({ name: s.string({ doc: "Its name.", maxLength: 64 }) }, { doc: "An interface." }), {
          doc: "The interfaces on which it answers. None: all.",
          maxItems: 256,
        }),
      ),
      eligibleNodes: s.optional(
        s.list(s.string({ doc: "The name of a node.", maxLength: 253 }), {
          doc: "The nodes that could announce, in the order in which they would take over; the first is the elected one. Where there are very many, the first ones.",
          maxItems: 64,
        }),
      ),
      conditions: s.optional(
        s.conditions({
          doc: "Announced: the node holds the addresses; False with reason AddressInUse while another machine answers for one. Contested: another machine answers for one too, while the node keeps it; not there otherwise. HostProtected: connections to the addresses reach no service of the node itself. Unknown when the agent of the node has fallen silent.",
        }),
      ),
    },
    { doc: "What the elected node does." },
  ),
});
export type ServiceL2Status = Stored<typeof ServiceL2Status>;

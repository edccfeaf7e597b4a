import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

export const ServiceL2Status = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "ServiceL2Status",
  plural: "servicel2statuses",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "The node that announces the addresses of one Service on the local network. It has the name and the namespace of the Service.",
  columns: [
    { name: "Node", path: ".status.node", type: "string", doc: "The node that announces." },
    { name: "Interfaces", path: ".status.interfaces[*].name", type: "string", doc: "The interfaces; empty means all." },
    {
      name: "Announced",
      path: '.status.conditions[?(@.type=="Announced")].status',
      type: "string",
      doc: "Whether the node announces the addresses.",
      wide: true,
    },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  status: s.object(
    {
      node: s.optional(s.string({ doc: "The elected node.", maxLength: 253 })),
      service: s.optional(s.string({ doc: "The Service.", maxLength: 253 })),
      interfaces: s.optional(
        s.listMap(["name"], s.object({ name: s.string({ doc: "Its name.", maxLength: 64 }) }, { doc: "An interface." }), {
          doc: "The interfaces on which it announces. Empty means all.",
          maxItems: 256,
        }),
      ),
      eligibleNodes: s.optional(
        s.list(s.string({ doc: "The name of a node.", maxLength: 253 }), {
          doc: "The nodes that can announce, in failover order; the first is the elected one. Truncated if there are too many.",
          maxItems: 64,
        }),
      ),
      conflicts: s.optional(
        s.list(
          s.object(
            {
              address: s.string({ doc: "The service address.", maxLength: 45 }),
              mac: s.string({ doc: "The MAC address of the other machine.", maxLength: 64 }),
              interface: s.string({ doc: "The interface of the node on which it answers.", maxLength: 64 }),
            },
            { doc: "Another machine that uses a service address." },
          ),
          { doc: "Other machines that use addresses of the Service. Absent without a conflict.", maxItems: 64 },
        ),
      ),
      conditions: s.optional(
        s.conditions({
          doc: "Announced: the node announces the addresses; False with reason AddressInUse while another machine uses one. Conflict: another machine also uses an address that the node keeps; absent otherwise. HostProtected: connections to the addresses cannot reach the node's own services. Unknown when the node's agent does not report.",
        }),
      ),
    },
    { doc: "The state of the elected node." },
  ),
});
export type ServiceL2Status = Stored<typeof ServiceL2Status>;

import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";
import { selections } from "./selections.ts";

const preference = s.object(
  {
    weight: s.int({ doc: "How much a matching node is preferred. The weights of all matching terms add up.", minimum: 1, maximum: 100 }),
    preference: s.labelSelector({ doc: "Nodes by their labels." }),
  },
  { doc: "Nodes that are preferred if several can announce." },
);

export const L2Advertisement = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "L2Advertisement",
  plural: "l2advertisements",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "Announces the addresses of Services on a local network, each from one of the selected nodes. The ServiceL2Status of each Service reports the node.",
  columns: [
    { name: "IPAddressPools", path: ".spec.ipAddressPools", type: "string", doc: "The pools by name." },
    { name: "IPAddressPool Selectors", path: ".spec.ipAddressPoolSelectors", type: "string", doc: "The pools by label." },
    { name: "Interfaces", path: ".spec.interfaces", type: "string", doc: "The interfaces; empty means all." },
    { name: "Node Selectors", path: ".spec.nodeSelectors", type: "string", doc: "The nodes; empty means all.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  spec: s.default(
    s.object(
      {
        ...selections,
        interfaces: s.optional(
          s.list(s.string({ doc: "The name of an interface.", maxLength: 64 }), {
            doc: "The interfaces on which the addresses are announced. Empty means all.",
            maxItems: 256,
          }),
        ),
        preferredNodeSelectors: s.optional(
          s.list(preference, {
            doc: "The nodes that are preferred if several can announce. Any selected node takes over if these cannot.",
            maxItems: 256,
          }),
        ),
      },
      { doc: "The desired state." },
    ),
    {},
  ),
  status: s.object({}, { doc: "Empty: see the ConfigurationState of each node." }),
});
export type L2Advertisement = Stored<typeof L2Advertisement>;

import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";
import { selections } from "./selections.ts";

const preference = s.object(
  {
    weight: s.int({ doc: "How much a matching node is preferred. The weights of all that match add up.", minimum: 1, maximum: 100 }),
    preference: s.labelSelector({ doc: "Nodes by their labels." }),
  },
  { doc: "Nodes that come first where several could announce." },
);

export const L2Advertisement = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "L2Advertisement",
  plural: "l2advertisements",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "Has the addresses of Services answered for on a local network, each by one of the selected nodes. Which node it is stands in the ServiceL2Status of each Service.",
  columns: [
    { name: "IPAddressPools", path: ".spec.ipAddressPools", type: "string", doc: "The pools by name." },
    { name: "IPAddressPool Selectors", path: ".spec.ipAddressPoolSelectors", type: "string", doc: "The pools by label." },
    { name: "Interfaces", path: ".spec.interfaces", type: "string", doc: "The interfaces; none is all." },
    { name: "Node Selectors", path: ".spec.nodeSelectors", type: "string", doc: "The nodes; none is all.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.default(
    s.object(
      {
        ...selections,
        interfaces: s.optional(
          s.list(s.string({ doc: "The name of an interface.", maxLength: 64 }), {
            doc: "The interfaces on which the addresses are answered for. None: all.",
            maxItems: 256,
          }),
        ),
        preferredNodeSelectors: s.optional(
          s.list(preference, {
            doc: "Which nodes come first where several could announce. A wish: any selected node takes over where these cannot.",
            maxItems: 256,
          }),
        ),
      },
      { doc: "What is wanted." },
    ),
    {},
  ),
  status: s.object({}, { doc: "Empty: what became of it stands in the ConfigurationState of each node." }),
});
export type L2Advertisement = Stored<typeof L2Advertisement>;

import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

export const Community = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "Community",
  plural: "communities",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "Names for BGP communities, to be used in BGPAdvertisements. A name may stand in one Community only.",
  columns: [{ name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." }],
  spec: s.object(
    {
      communities: s.optional(
        s.list(
          s.object(
            {
              name: s.optional(s.string({ doc: "The name, as BGPAdvertisements use it.", maxLength: 253 })),
              value: s.optional(s.string({ doc: "The community: 64512:100, or a large one: large:64512:1:2.", maxLength: 64 })),
            },
            { doc: "One name and what it stands for." },
          ),
          { doc: "The names.", maxItems: 1024 },
        ),
      ),
    },
    { doc: "What is wanted." },
  ),
  status: s.object({ claims: s.optional(claims()) }, { doc: "What the controller knows about this object as a whole." }),
});
export type Community = Stored<typeof Community>;

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
  doc: "Names for BGP communities, for use in BGPAdvertisements. A name must be unique across all Communities.",
  columns: [{ name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." }],
  spec: s.object(
    {
      communities: s.optional(
        s.list(
          s.object(
            {
              name: s.optional(s.string({ doc: "The name that BGPAdvertisements use.", maxLength: 253 })),
              value: s.optional(s.string({ doc: "The community: 64512:100, or a large one: large:64512:1:2.", maxLength: 64 })),
            },
            { doc: "A name and its community." },
          ),
          { doc: "The names.", maxItems: 1024 },
        ),
      ),
    },
    { doc: "The desired state." },
  ),
  status: s.object({ claims: s.optional(claims()) }, { doc: "What the controller records about this object." }),
});
export type Community = Stored<typeof Community>;

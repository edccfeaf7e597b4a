import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";
import { nodeSelector } from "./node-selector.ts";

export const RawFRRConfig = defineKind({
  group: "openpe.openperouter.github.io",
  version: "v1alpha1",
  kind: "RawFRRConfig",
  plural: "rawfrrconfigs",
  scope: "Namespaced",
  categories: ["plumbline", "openperouter"],
  doc: "Lines for the router's FRR as they are, behind everything that the other kinds bring. For what no other kind can say; nothing checks them but FRR itself.",
  columns: [
    { name: "Priority", path: ".spec.priority", type: "integer", doc: "The order among several: lower first." },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.object(
    {
      rawConfig: s.string({ doc: "FRR configuration, as in frr.conf.", minLength: 1, maxLength: 262_144 }),
      priority: s.default(s.int({ doc: "The order among several: lower first, then by name.", minimum: 0, maximum: 2_147_483_647 }), 0),
      nodeSelector: s.optional(nodeSelector()),
    },
    { doc: "What is wanted." },
  ),
  status: s.object(
    {},
    {
      doc: "Empty: it asks for nothing that another could have. What became of it stands in the RouterNodeConfigurationStatus of each node.",
    },
  ),
});
export type RawFRRConfig = Stored<typeof RawFRRConfig>;

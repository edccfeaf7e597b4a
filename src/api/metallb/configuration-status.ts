import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

const count = (doc: string) => s.int({ doc, minimum: 0, maximum: 1_000_000 });
const components = (doc: string) =>
  s.optional(s.list(s.string({ doc: "The name of a ConfigurationState.", maxLength: 253 }), { doc, maxItems: 16_384 }));

export const ConfigurationStatus = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "ConfigurationStatus",
  plural: "configurationstatuses",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "Whether the load balancer's configuration is valid, over all components; `config-status` is the only one. The parts are the ConfigurationStates.",
  columns: [
    {
      name: "Valid",
      path: ".status.validConfig",
      type: "boolean",
      doc: "Whether every component that reports finds it valid; see also Unknown.",
    },
    { name: "Invalid", path: ".status.components.invalid", type: "integer", doc: "How many components find it invalid." },
    { name: "Unknown", path: ".status.components.unknown", type: "integer", doc: "How many components do not report." },
    { name: "LastError", path: ".status.lastError", type: "string", doc: "What is wrong." },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  status: s.object(
    {
      validConfig: s.optional(
        s.bool({
          doc: "Whether every component that reports finds the configuration valid. Those that do not report are counted in components.unknown, and make the condition Unknown. Not there while none reports, or no controller leads.",
        }),
      ),
      lastError: s.optional(s.string({ doc: "All errors of all components, each once, one a line.", maxLength: 65_536 })),
      error: s.optional(s.string({ doc: "The same as lastError. Not there while nothing is wrong.", maxLength: 65_536 })),
      components: s.optional(
        s.object(
          { valid: count("Valid."), invalid: count("Invalid."), unknown: count("Unknown.") },
          { doc: "How many components say what." },
        ),
      ),
      invalidComponents: components("Those that find it invalid. Where there are very many, not all of them."),
      unknownComponents: components("Those that do not report. Where there are very many, not all of them."),
      conditions: s.optional(
        s.conditions({
          doc: "Valid: as validConfig, but Unknown while a component does not report and none finds an error, or while no controller leads.",
        }),
      ),
    },
    { doc: "The aggregate." },
  ),
});
export type ConfigurationStatus = Stored<typeof ConfigurationStatus>;

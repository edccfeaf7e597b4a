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
  doc: "Whether the load balancer configuration is valid in all components. The only object is `config-status`; it summarizes the ConfigurationStates.",
  columns: [
    {
      name: "Valid",
      path: ".status.validConfig",
      type: "boolean",
      doc: "Whether it is valid in every component that reports; see also Unknown.",
    },
    { name: "Invalid", path: ".status.components.invalid", type: "integer", doc: "Components in which it is invalid." },
    { name: "Unknown", path: ".status.components.unknown", type: "integer", doc: "Components that do not report." },
    { name: "LastError", path: ".status.lastError", type: "string", doc: "The errors." },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  status: s.object(
    {
      validConfig: s.optional(
        s.bool({
          doc: "Whether the configuration is valid in every component that reports. Components that do not report count in components.unknown and make the condition Unknown. Unset while none reports or no controller leads.",
        }),
      ),
      lastError: s.optional(s.string({ doc: "All errors of all components without duplicates, one per line.", maxLength: 65_536 })),
      error: s.optional(s.string({ doc: "The same as lastError. Unset without errors.", maxLength: 65_536 })),
      components: s.optional(
        s.object(
          { valid: count("Valid."), invalid: count("Invalid."), unknown: count("Unknown.") },
          { doc: "The number of components by result." },
        ),
      ),
      invalidComponents: components("The components in which it is invalid. Truncated if there are too many."),
      unknownComponents: components("The components that do not report. Truncated if there are too many."),
      conditions: s.optional(
        s.conditions({
          doc: "Valid: as validConfig, but Unknown while a component does not report and none has an error, or while no controller leads.",
        }),
      ),
    },
    { doc: "The summary over all components." },
  ),
});
export type ConfigurationStatus = Stored<typeof ConfigurationStatus>;

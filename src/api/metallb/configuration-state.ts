import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

const kind = () => s.string({ doc: "The kind of the resource.", minLength: 1, maxLength: 63 });
const name = () => s.string({ doc: "The name of the resource.", minLength: 1, maxLength: 253 });
const generation = () =>
  s.optional(s.int({ doc: "The metadata.generation that this is about.", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

const failedResource = s.object(
  {
    kind: kind(),
    name: name(),
    namespace: s.optional(s.string({ doc: "The namespace of the resource.", maxLength: 63 })),
    reason: s.enum(["ValidationFailed", "DependencyFailed", "ApplicationFailed"], {
      doc: "ValidationFailed: refused before anything was touched. DependencyFailed: sound, but what it stands on is missing. ApplicationFailed: FRR or the kernel refused it.",
    }),
    message: s.string({ doc: "What is wrong, in the words that lastError has as well.", maxLength: 4096 }),
    field: s.optional(s.string({ doc: "The field to change, such as spec.bfdProfile.", maxLength: 253 })),
    class: s.enum(["Transient", "Permanent"], {
      doc: "Transient: it passes by itself once another object is there or changes. Permanent: this resource must be changed.",
    }),
    observedGeneration: generation(),
  },
  { doc: "A resource that is not live as it is written." },
);

const resource = s.object(
  {
    kind: kind(),
    name: name(),
    observedGeneration: generation(),
    state: s.enum(["Applied", "AppliedInPart", "Failed", "KeptPrevious"], {
      doc: "Applied: this generation is live. AppliedInPart: it is live but for what failedResources says. Failed: nothing of it is live. KeptPrevious: this generation failed and the last good one is live.",
    }),
  },
  { doc: "The state of one resource in this component." },
);

export const ConfigurationState = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "ConfigurationState",
  plural: "configurationstates",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "What one component made of the load balancer's configuration: `controller`, or `speaker-<node>`.",
  columns: [
    { name: "Result", path: ".status.result", type: "string", doc: "Valid, Invalid or Unknown." },
    { name: "LastError", path: ".status.lastError", type: "string", doc: "What is wrong." },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  status: s.object(
    {
      result: s.optional(
        s.enum(["Valid", "Invalid", "Unknown"], {
          doc: "Valid: all of the configuration is in effect. Invalid: something is not, see lastError and failedResources. Unknown: the component has not reported yet, or has fallen silent.",
        }),
      ),
      lastError: s.optional(s.string({ doc: "All errors, one a line. Empty when the result is Valid.", maxLength: 65_536 })),
      failedResources: s.optional(
        s.list(failedResource, {
          doc: "What is not live as it is written, and why. An entry goes away by itself once its cause is gone.",
          maxItems: 4096,
        }),
      ),
      resources: s.optional(
        s.listMap(["kind", "name"], resource, {
          doc: "The resources that concern this component, with the generation and state they are in. Where there are very many, only those that are not Applied.",
          maxItems: 4096,
        }),
      ),
      conditions: s.optional(
        s.conditions({ doc: "Valid: as the result says. Its reason also tells when the result is old because the API could not be read." }),
      ),
    },
    { doc: "What the component found." },
  ),
});
export type ConfigurationState = Stored<typeof ConfigurationState>;

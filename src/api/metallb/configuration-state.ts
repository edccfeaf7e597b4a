import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

const kind = () => s.string({ doc: "The kind of the resource.", minLength: 1, maxLength: 63 });
const configName = () => s.string({ doc: "The name of the resource.", minLength: 1, maxLength: 253 });
const generation = () =>
  s.optional(s.int({ doc: "The metadata.generation that this describes.", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

const failedResource = s.object(
  {
    kind: kind(),
    name: configName(),
    namespace: s.optional(s.string({ doc: "The namespace of the resource.", maxLength: 63 })),
    reason: s.enum(["ValidationFailed", "DependencyFailed", "ApplicationFailed"], {
      doc: "ValidationFailed: rejected before anything changed. DependencyFailed: valid, but something it depends on is missing. ApplicationFailed: FRR or the kernel rejected it.",
    }),
    message: s.string({ doc: "The error, as in lastError.", maxLength: 4096 }),
    field: s.optional(s.string({ doc: "The field to change, such as spec.bfdProfile.", maxLength: 253 })),
    class: s.enum(["Transient", "Permanent"], {
      doc: "Transient: resolves when another object is created or changed. Permanent: this resource must be changed.",
    }),
    observedGeneration: generation(),
  },
  { doc: "A resource whose current generation is not live." },
);

const resource = s.object(
  {
    kind: kind(),
    name: configName(),
    observedGeneration: generation(),
    state: s.enum(["Applied", "AppliedInPart", "Failed", "KeptPrevious"], {
      doc: "Applied: this generation is live. AppliedInPart: it is live except for what failedResources lists. Failed: nothing of it is live. KeptPrevious: this generation failed and the last good one is live.",
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
  doc: "The result of validating the load balancer configuration in one component: `controller`, or `speaker-<node>`.",
  columns: [
    { name: "Result", path: ".status.result", type: "string", doc: "Valid, Invalid or Unknown." },
    { name: "LastError", path: ".status.lastError", type: "string", doc: "The errors." },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  status: s.object(
    {
      result: s.optional(
        s.enum(["Valid", "Invalid", "Unknown"], {
          doc: "Valid: all configuration is in effect. Invalid: part of it is not, see lastError and failedResources. Unknown: the component has not reported yet, or no longer reports.",
        }),
      ),
      lastError: s.optional(s.string({ doc: "All errors, one per line. Empty when the result is Valid.", maxLength: 65_536 })),
      failedResources: s.optional(
        s.list(failedResource, {
          doc: "The resources that are not live as written, and why. An entry disappears when its cause is fixed.",
          maxItems: 4096,
        }),
      ),
      resources: s.optional(
        s.listMap(["kind", "name"], resource, {
          doc: "The resources of this component, with their generation and state. If there are too many, only those that are not Applied.",
          maxItems: 4096,
        }),
      ),
      links: s.optional(
        s.list(
          s.object(
            {
              name: s.string({ doc: "The interface.", minLength: 1, maxLength: 15 }),
              state: s.enum(["NoCarrier"], { doc: "NoCarrier: it is up, and the other end is not." }),
            },
            { doc: "An interface for layer 2 addresses." },
          ),
          {
            doc: "Interfaces of the node for layer 2 addresses that are down. Other nodes announce the addresses meanwhile.",
            maxItems: 64,
          },
        ),
      ),
      conditions: s.optional(
        s.conditions({
          doc: "Valid: as result. Its reason shows when the result is old because the API cannot be read. LinksUp: False while an interface for layer 2 addresses has no carrier; absent otherwise.",
        }),
      ),
    },
    { doc: "The result of validation." },
  ),
});
export type ConfigurationState = Stored<typeof ConfigurationState>;

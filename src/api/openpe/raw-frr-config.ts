import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";
import { AGE, NETWORK, nodeSelector, OPENPE } from "../router-fields.ts";

const rawFRRConfig = (of: typeof OPENPE | typeof NETWORK) =>
  defineKind({
    ...of,
    kind: "RawFRRConfig",
    plural: "rawfrrconfigs",
    doc: "Raw FRR configuration, applied after that of all other kinds. For what no other kind can express; only FRR validates it.",
    columns: [
      { name: "Priority", path: ".spec.priority", type: "integer", doc: "The order among several RawFRRConfigs: lower first." },
      AGE,
    ],
    spec: s.object(
      {
        rawConfig: s.string({ doc: "FRR configuration, as in frr.conf.", minLength: 1, maxLength: 262_144 }),
        priority: s.default(
          s.int({ doc: "The order among several RawFRRConfigs: lower first, then by name.", minimum: 0, maximum: 2_147_483_647 }),
          0,
        ),
        nodeSelector: s.optional(nodeSelector()),
      },
      { doc: "The desired state." },
    ),
    status: s.object(
      {},
      {
        doc: "Empty: a RawFRRConfig has no claims. The RouterNodeConfigurationStatus of each node has the result.",
      },
    ),
  });

export const RawFRRConfig = rawFRRConfig(OPENPE);
export const NetworkRawFRRConfig = rawFRRConfig(NETWORK);
export type RawFRRConfig = Stored<typeof RawFRRConfig>;

import type { CustomResourceDefinition } from "../../src/api/crds/crd.ts";
import { NetworkFence as external } from "../../src/failover/observe/external-kinds.ts";

const { group, plural, scope, kind } = external;

/** The shape of csi-addons' definition as far as tests of ours need it; the status is a subresource there too. */
export const networkFenceCrd: CustomResourceDefinition = {
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope,
    names: { kind, listKind: `${kind}List`, plural, singular: "networkfence" },
    conversion: { strategy: "None" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  networkFenceClassName: { type: "string" },
                  driver: { type: "string" },
                  secret: { type: "object", properties: { name: { type: "string" }, namespace: { type: "string" } } },
                  fenceState: { type: "string", enum: ["Fenced", "Unfenced"], default: "Fenced" },
                  cidrs: { type: "array", items: { type: "string" } },
                },
                required: ["cidrs"],
              },
              status: { type: "object", properties: { result: { type: "string" }, message: { type: "string" } } },
            },
          },
        },
      },
    ],
  },
};

import { expect, test } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { webhookConfiguration } from "./webhook-configuration.ts";

test("the webhook configuration has each kind, and failurePolicy Ignore", () => {
  const reach = { service: { namespace: "plumbline-system", name: "plumbline-webhook" } };
  expect(webhookConfiguration("plumbline", [{ kind: L3VNI, operations: ["CREATE", "UPDATE"] }], reach)).toEqual({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "plumbline" },
    webhooks: [
      {
        name: "l3vnis.openpe.openperouter.github.io.plumbline.dev",
        clientConfig: {
          service: { namespace: "plumbline-system", name: "plumbline-webhook", path: "/validate/l3vnis.openpe.openperouter.github.io" },
        },
        rules: [
          {
            apiGroups: ["openpe.openperouter.github.io"],
            apiVersions: [L3VNI.version],
            operations: ["CREATE", "UPDATE"],
            resources: ["l3vnis"],
            scope: "Namespaced",
          },
        ],
        failurePolicy: "Ignore",
        matchPolicy: "Equivalent",
        sideEffects: "None",
        timeoutSeconds: 5,
        admissionReviewVersions: ["v1"],
      },
    ],
  });
});

test("outside a cluster it has a URL, and the webhook of a core kind has a name of three parts too", () => {
  const { webhooks } = webhookConfiguration("plumbline", [{ kind: ConfigMap, operations: ["DELETE"] }], { url: "https://127.0.0.1:9443" });
  expect(webhooks).toMatchObject([
    {
      name: "configmaps.core.plumbline.dev",
      clientConfig: { url: "https://127.0.0.1:9443/validate/configmaps" },
      rules: [{ apiGroups: [""] }],
    },
  ]);
});

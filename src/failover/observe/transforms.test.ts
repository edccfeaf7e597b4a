import { expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { stripObject } from "./transforms.ts";

test("the cache keeps what a plan reads of an Application, and drops the rest", () => {
  const metadata = { name: "shop", namespace: "argocd" };
  const application = {
    metadata,
    spec: { syncPolicy: { automated: {} }, ignoreDifferences: [], source: { repoURL: "https://git.example/shop" } },
    operation: { sync: { prune: true } },
    status: {
      operationState: {
        phase: "Failed",
        message: "hook failed",
        startedAt: "2026-11-16T11:54:00Z",
        finishedAt: "2026-11-16T11:55:00Z",
        syncResult: {},
      },
      sync: { status: "Synced", revision: "abc" },
      reconciledAt: "2026-11-16T11:56:00Z",
      health: { status: "Healthy", message: "ok", lastTransitionTime: "2026-11-16T11:00:00Z" },
      resources: [{ kind: "Deployment" }],
    },
  };
  expect(stripObject("Application")(application as KubeObject)).toEqual({
    metadata,
    spec: { syncPolicy: { automated: {} }, ignoreDifferences: [] },
    operation: {},
    status: {
      operationState: { phase: "Failed", message: "hook failed", finishedAt: "2026-11-16T11:55:00Z" },
      sync: { status: "Synced" },
      reconciledAt: "2026-11-16T11:56:00Z",
      health: { status: "Healthy", message: "ok" },
    },
  });
});

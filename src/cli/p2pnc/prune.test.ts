import { expect, test } from "vitest";
import { isPlumblines } from "./prune.ts";

const check = (annotations?: Record<string, string>) =>
  isPlumblines({
    metadata: { name: "a", namespace: "shop", ...(annotations && { annotations }) },
    spec: { sourcePod: "n1", targetEndpoint: "a:1" },
  });

test("p2pnc prune skips checks of meshes and of nodes", () => {
  expect(check({ "plumbline.dev/mesh": "all" })).toBe(true);
  expect(check({ "plumbline.dev/node": "n1" })).toBe(true);
  expect(check({ "plumbline.dev/checkpoint-seconds": "60" })).toBe(false);
  expect(check()).toBe(false);
});

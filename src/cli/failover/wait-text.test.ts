import { expect, test } from "vitest";
import { waitDescription } from "./wait-text.ts";

test.for([
  [{ kind: "Pod", namespace: "shop", name: "db-0", message: "Pod shop/db-0 runs" }, "Pod shop/db-0 runs"],
  [
    { kind: "VolumeReplication", namespace: "shop", name: "data", message: "VolumeReplication data not in desired state" },
    "VolumeReplication data not in desired state",
  ],
  [
    { kind: "VolumeAttachment", name: "csi-1", message: "Volume v is still attached" },
    "VolumeAttachment csi-1: Volume v is still attached",
  ],
  [{ kind: "Pod", namespace: "shop", name: "db", message: "Pod shop/db-0 runs" }, "Pod shop/db: Pod shop/db-0 runs"],
] as const)("%j is printed as %s", ([waited, sentence]) => {
  expect(waitDescription(waited)).toBe(sentence);
});

import { expect, test } from "vitest";
import { sourceLease, sourceOfLease } from "./source-lease.ts";

test.each(["web", "kube-apiserver-ip-10-0-135-158.us-west-1.compute.internal", "a".repeat(253)])(
  "the Lease of pod %s is found again by what it carries",
  (pod) => {
    const metadata = { ...sourceLease(pod), namespace: "shop" };
    expect(metadata.name.length).toBeLessThanOrEqual(253);
    expect(metadata.labels).toEqual({ "plumbline.dev/component": "check-source" });
    expect(sourceOfLease({ metadata, spec: {} })).toBe(`shop/${pod}`);
  },
);

test("a Lease that only looks like one is nobody's", () => {
  const metadata = { ...sourceLease("web"), namespace: "shop" };
  expect(sourceOfLease({ metadata: { ...metadata, annotations: {} }, spec: {} })).toBeUndefined();
  expect(sourceOfLease({ metadata: { ...metadata, name: "check-api" }, spec: {} })).toBeUndefined();
});

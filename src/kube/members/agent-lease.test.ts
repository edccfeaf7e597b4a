import { nodeAnnotation } from "../../api/annotations.ts";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { agentLeaseName, nodeLabel, nodeOfLease, signingKeyAnnotations, signingKeyOf, waitingOf } from "./agent-lease.ts";

const spec = { renewTime: "2026-11-15T10:30:00.000000Z" };
const lease = (name: string, node: string) => ({ metadata: { name, annotations: { [nodeAnnotation]: node } }, spec });
const long = `worker.${"x".repeat(240)}.example`;

test("names that fit are used as they are", () => {
  expect(agentLeaseName("worker-1")).toBe("agent-worker-1");
  expect(nodeLabel("worker-1.example.com")).toBe("worker-1.example.com");
});

test("names and labels of any node are valid, and differ for different nodes", () => {
  const part = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  const node = fc
    .array(part, { minLength: 1, maxLength: 8 })
    .map((parts) => parts.join("."))
    .filter(({ length }) => length <= 253);
  fc.assert(
    fc.property(node, node, (one, two) => {
      for (const [nameOf, limit] of [[agentLeaseName, 253] as const, [nodeLabel, 63] as const]) {
        expect(nameOf(one).length).toBeLessThanOrEqual(limit);
        expect(nameOf(one)).toMatch(/^[a-z0-9].*[a-z0-9]$|^[a-z0-9]$/);
        expect(nameOf(one) === nameOf(two)).toBe(one === two);
      }
    }),
    { seed: 3, numRuns: 200 },
  );
});

test("a Lease of a long node name with dots anywhere has a valid name", () => {
  for (let at = 1; at < 251; at += 1) {
    const node = `${"a".repeat(at)}.${"b".repeat(251 - at)}`;
    expect(agentLeaseName(node)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  }
});

test("the node is read from the annotation, and a Lease with the name of another node is ignored", () => {
  expect(nodeOfLease(lease(agentLeaseName(long), long))).toBe(long);
  expect(nodeOfLease(lease("agent-worker-2", "worker-1"))).toBeUndefined();
  expect(nodeOfLease({ metadata: { name: "agent-worker-1" }, spec })).toBeUndefined();
});

test("a Lease that was never renewed does not count as alive, and has what its agent waits for", () => {
  const { metadata } = lease("agent-worker-1", "worker-1");
  const waits = { "plumbline.dev/waits-for": "underlays, l2vnis", "plumbline.dev/waits-since": "2026-11-15T10:30:00Z" };
  const waiting = { metadata: { ...metadata, annotations: { ...metadata.annotations, ...waits } }, spec: {} };
  expect(nodeOfLease(waiting)).toBeUndefined();
  expect(waitingOf(waiting)).toEqual({ node: "worker-1", kinds: "underlays, l2vnis", since: "2026-11-15T10:30:00Z" });
  expect(waitingOf({ metadata, spec })).toBeUndefined();
  expect(waitingOf({ ...waiting, metadata: { ...waiting.metadata, name: "agent-worker-2" } })).toBeUndefined();
});

const renewed = (renewTime: string, annotations: Record<string, string>) => ({
  metadata: { name: "agent-a", annotations },
  spec: { renewTime },
});

test("the key of an agent is published with its renewal, and only if it is valid", () => {
  const key = `${"A".repeat(43)}=`;
  expect(signingKeyOf(renewed("1", signingKeyAnnotations(key, "1")))).toBe(key);
  expect(signingKeyOf(renewed("2", signingKeyAnnotations(key, "1")))).toBeUndefined();
  expect(signingKeyOf(renewed("1", signingKeyAnnotations("nonsense", "1")))).toBeUndefined();
  expect(signingKeyOf(renewed("1", {}))).toBeUndefined();
  expect(signingKeyOf({ metadata: { name: "agent-a" }, spec: {} })).toBeUndefined();
});

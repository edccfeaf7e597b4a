import { expect, test } from "vitest";
import type { FailoverPolicy } from "../api/failover/failover-policy.ts";
import { ClaimIndex } from "./claims.ts";
import type { Managed } from "./policy/managed.ts";

const web: Managed = { kind: "Deployment", namespace: "shop", name: "web", field: "spec.managedResources[0]" };
const data: Managed = { kind: "VolumeReplication", namespace: "shop", name: "data", field: "spec.managedResources[1]" };
const claimsOf = (...args: Parameters<ClaimIndex["record"]>) => new ClaimIndex().record(...args);
const now = new Date("2026-11-16T12:00:00.500Z");

function policy(name: string, created: string, claims?: Record<string, string>): FailoverPolicy {
  const recorded = claims && Object.entries(claims).map(([claim, since]) => ({ claim, since }));
  return {
    metadata: { name, namespace: "shop", creationTimestamp: created },
    spec: { desiredState: "primary" },
    ...(recorded && { status: { claims: recorded } }),
  };
}

test("a policy without recorded claims claims since its creation, and later resources since they were added", () => {
  expect(claimsOf(policy("a", "2026-11-16T08:00:00Z"), [web, data], now)).toEqual([
    { claim: "deployment/shop/web", since: "2026-11-16T08:00:00Z" },
    { claim: "volumereplication/shop/data", since: "2026-11-16T08:00:00Z" },
  ]);
  const recorded = policy("a", "2026-11-16T08:00:00Z", {
    "deployment/shop/web": "2026-11-16T08:00:00Z",
    "cronjob/shop/left": "2026-11-16T08:00:00Z",
  });
  expect(claimsOf(recorded, [web, data], now)).toEqual([
    { claim: "deployment/shop/web", since: "2026-11-16T08:00:00Z" },
    { claim: "volumereplication/shop/data", since: "2026-11-16T12:00:00.500Z" },
  ]);
});

test("a name that is too long for a claim ends in a hash", () => {
  const long = { ...web, namespace: "n".repeat(63), name: "x".repeat(253) };
  const [one, other] = claimsOf(policy("a", "2026-11-16T08:00:00Z"), [long, { ...long, name: `${"x".repeat(252)}y` }], now);
  expect(one?.claim).toHaveLength("deployment/".length + 64 + 64);
  expect(one?.claim).not.toBe(other?.claim);
});

test("the older claim wins the resource, and the failure of the younger policy names it", () => {
  const book = new ClaimIndex();
  const [older, younger] = [policy("b", "2026-11-16T08:00:00Z"), policy("a", "2026-11-16T09:00:00Z")];
  expect(book.enter(older, [web], now)).toEqual(new Set());
  expect(book.enter(younger, [data, web], now)).toEqual(new Set(["shop/b"]));
  expect(book.contested(older, [web])).toEqual([]);
  expect(book.contested(younger, [data, web])).toEqual([{ resource: web, holder: "shop/b" }]);
});

test("an edit onto a resource of another policy loses, however old the policy is", () => {
  const book = new ClaimIndex();
  const edited = policy("old", "2026-01-01T00:00:00Z", { "deployment/shop/web": "2026-01-01T00:00:00Z" });
  const holder = policy("young", "2026-11-16T08:00:00Z", { "volumereplication/shop/data": "2026-11-16T08:00:00Z" });
  book.enter(edited, [web, data], now);
  book.enter(holder, [data], now);
  expect(book.contested(edited, [web, data])).toEqual([{ resource: data, holder: "shop/young" }]);
  expect(book.contested(holder, [data])).toEqual([]);
});

test("of two policies of the same second the one with the first recorded claim wins", () => {
  const created = "2026-11-16T08:00:00Z";
  const book = new ClaimIndex();
  const first = policy("z", created, { "deployment/shop/web": created });
  book.enter(first, [web], now);
  book.enter(policy("a", created), [web], now);
  expect(book.contested(policy("a", created), [web])).toEqual([{ resource: web, holder: "shop/z" }]);

  const record = book.record(policy("a", created), [web], now);
  expect(record).toEqual([{ claim: "deployment/shop/web", since: "2026-11-16T08:00:00.001Z" }]);
  const second = policy("a", created, { "deployment/shop/web": "2026-11-16T08:00:00.001Z" });
  book.enter(second, [web], now);
  expect(book.contested(first, [web])).toEqual([]);
  expect(book.contested(second, [web])).toEqual([{ resource: web, holder: "shop/z" }]);
  expect(book.record(second, [web], now)).toEqual(record);
});

test("of two policies of the same second without recorded claims the name decides", () => {
  const created = "2026-11-16T08:00:00Z";
  const book = new ClaimIndex();
  for (const name of ["b", "a"]) book.enter(policy(name, created), [web], now);
  expect(book.contested(policy("b", created), [web])).toEqual([{ resource: web, holder: "shop/a" }]);
});

test("when the owner is deleted or drops the resource, a waiting policy is reconciled and gets it", () => {
  const book = new ClaimIndex();
  const [older, younger] = [policy("a", "2026-11-16T08:00:00Z"), policy("b", "2026-11-16T09:00:00Z")];
  book.enter(older, [web, data], now);
  book.enter(younger, [web], now);
  expect(book.enter(older, [data], now)).toEqual(new Set(["shop/b"]));
  expect(book.contested(younger, [web])).toEqual([]);
  book.enter(older, [web, data], now);
  expect(book.strike("shop/a")).toEqual(new Set(["shop/b"]));
  expect(book.contested(younger, [web])).toEqual([]);
});

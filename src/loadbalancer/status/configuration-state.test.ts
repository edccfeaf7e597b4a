import { expect, test } from "vitest";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { Condition } from "../../api/kind.ts";
import { plan, type DesiredStatus } from "../../kube/status/plan.ts";
import type { ConfigFailure } from "../config/load.ts";
import { configurationState, configurationStateName, type MetallbComponent, type ConfigurationResult } from "./configuration-state.ts";

const speaker: MetallbComponent = { type: "speaker", node: "kind-worker", nodeUid: "u1" };
const now = new Date("2026-11-15T10:00:00Z");

const failureOf = (name: string, message: string, more: Partial<ConfigFailure> = {}): ConfigFailure => ({
  kind: "BGPPeer",
  name,
  namespace: "metallb-system",
  reason: "DependencyFailed",
  field: "spec.bfdProfile",
  message,
  class: "Transient",
  rule: "T2",
  generation: 3,
  ...more,
});

const noProfile = failureOf("peer1", "peer peer1 referencing non existing bfd profile my-bfd-profile");
const wrongSecret = failureOf(
  "peer-with-secret",
  'parsing peer peer-with-secret secret type mismatch on "metallb-system"/"bgp-password", type "kubernetes.io/basic-auth" is expected \nfailed to parse peer peer-with-secret password secret',
  { reason: "ValidationFailed", field: "spec.passwordSecret", class: "Permanent", rule: "V1" },
);

function statusAfter(
  picture: DesiredStatus<ConfigurationState>,
  existing?: NonNullable<ConfigurationState["status"]>,
): ConfigurationState["status"] {
  const metadata = { name: "x", namespace: "metallb-system", resourceVersion: "1", ...picture.create?.metadata };
  const step = plan("metallb-system/x", picture, { metadata, ...(existing && { status: existing }) }, { kind: ConfigurationState }, now);
  return step?.do === "patch-status" ? step.next : existing;
}

const secretUnread = { reason: "SecretUnreadable", message: "The API does not let us read Secret s" } as const;
const unreadPeer = (isInForce: boolean, generation = 3) => ({
  kind: "BGPPeer",
  name: "peer-with-secret",
  generation,
  secret: "s",
  isInForce,
});

test("names, labels and owner follow the specification", () => {
  expect(configurationStateName({ type: "controller" })).toBe("controller");
  expect(configurationStateName(speaker)).toBe("speaker-kind-worker");
  expect(configurationState({ type: "controller" }).create).toEqual({
    metadata: { labels: { "metallb.io/component-type": "controller" } },
  });
  expect(configurationState(speaker).create).toEqual({
    metadata: {
      labels: { "metallb.io/component-type": "speaker", "metallb.io/node-name": "kind-worker" },
      annotations: { "plumbline.dev/node": "kind-worker" },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "kind-worker", uid: "u1" }],
    },
  });
});

test("a configuration without failures is Valid, with an empty error", () => {
  const finding: ConfigurationResult = { failures: [], resources: [{ kind: "BGPPeer", name: "peer1", generation: 2, state: "Applied" }] };
  expect(statusAfter(configurationState(speaker, finding))).toEqual({
    result: "Valid",
    lastError: "",
    resources: [{ kind: "BGPPeer", name: "peer1", observedGeneration: 2, state: "Applied" }],
    conditions: [
      {
        type: "Valid",
        status: "True",
        reason: "ConfigurationValid",
        message: "All configuration is in effect",
        lastTransitionTime: "2026-11-15T10:00:00Z",
      },
    ],
  });
});

test("lastError has all messages, sorted and literal, and failedResources has each failure", () => {
  const status = statusAfter(configurationState(speaker, { failures: [noProfile, wrongSecret], resources: [] }));
  expect(status?.result).toBe("Invalid");
  expect(status?.lastError).toBe(`${wrongSecret.message}\n${noProfile.message}`);
  expect(status?.failedResources).toEqual([
    {
      kind: "BGPPeer",
      name: "peer-with-secret",
      namespace: "metallb-system",
      reason: "ValidationFailed",
      field: "spec.passwordSecret",
      message: wrongSecret.message,
      class: "Permanent",
      observedGeneration: 3,
    },
    {
      kind: "BGPPeer",
      name: "peer1",
      namespace: "metallb-system",
      reason: "DependencyFailed",
      field: "spec.bfdProfile",
      message: noProfile.message,
      class: "Transient",
      observedGeneration: 3,
    },
  ]);
  expect(status?.conditions?.[0]).toMatchObject({ status: "False", message: "2 resources are not in effect as written" });
});

test("the controller's lastError has the documented prefix", () => {
  const message = 'CIDR "192.168.10.100/32" in pool "client2-pool" overlaps with already defined CIDR "192.168.10.0/24"';
  const finding = { failures: [failureOf("client2-pool", message, { kind: "IPAddressPool" })], resources: [] };
  expect(statusAfter(configurationState({ type: "controller" }, finding))?.lastError).toBe(`failed to parse configuration: ${message}`);
});

test("is Unknown at the start, unless an earlier run left a result", () => {
  const unknown = statusAfter(configurationState(speaker));
  expect(unknown).toMatchObject({ result: "Unknown", conditions: [{ type: "Valid", status: "Unknown", reason: "Starting" }] });
  const earlier = statusAfter(configurationState(speaker, { failures: [noProfile], resources: [] }));
  expect(statusAfter(configurationState(speaker), earlier)).toBe(earlier);
});

test("an unavailable API or FRR keeps the result, and the condition has the reason", () => {
  const readProblem = { reason: "ConfigurationUnreadable", message: "bgppeers cannot be read since 10:00" } as const;
  const invalid = statusAfter(configurationState(speaker, { failures: [noProfile], resources: [] }, readProblem));
  expect(invalid).toMatchObject({ result: "Invalid", lastError: noProfile.message });
  expect(invalid?.conditions as Condition[]).toMatchObject([{ type: "Valid", status: "False", reason: "ConfigurationUnreadable" }]);
  const valid = statusAfter(configurationState(speaker, { failures: [], resources: [] }, readProblem));
  expect(valid).toMatchObject({ result: "Valid", conditions: [{ status: "True", reason: "ConfigurationUnreadable" }] });
  expect(valid?.conditions?.[0]?.message).toContain("bgppeers cannot be read since 10:00");
});

test("lists only resources that are not applied if there are more than a thousand", () => {
  const resources = Array.from({ length: 1001 }, (_, index) => ({
    kind: "IPAddressPool",
    name: `p${index}`,
    generation: 1,
    state: index === 7 ? ("KeptPrevious" as const) : ("Applied" as const),
  }));
  expect(statusAfter(configurationState(speaker, { failures: [], resources }))?.resources).toEqual([
    { kind: "IPAddressPool", name: "p7", observedGeneration: 1, state: "KeptPrevious" },
  ]);
  expect(statusAfter(configurationState(speaker, { failures: [], resources: resources.slice(1) }))?.resources).toHaveLength(1000);
});

test("ten thousand failures are truncated to an object that can be stored, and the message says so", () => {
  const failures = Array.from({ length: 10_000 }, (_, index) => failureOf(`peer-${index}`, "x".repeat(5000)));
  const status = statusAfter(configurationState(speaker, { failures, resources: [] }));
  expect(JSON.stringify(status).length).toBeLessThan(1_000_000);
  expect(status?.lastError).toHaveLength(65_536);
  expect(status?.conditions?.[0]?.message).toMatch(/^10000 resources are not in effect as written; \d+ failures not listed$/);
});

test("a read problem is added to the condition of an earlier run without changing its result", () => {
  const readProblem = { reason: "SecretUnreadable", message: "The API does not let us read Secret tor" } as const;
  const desired = configurationState(speaker, undefined, readProblem);
  for (const finding of [
    { failures: [], resources: [] },
    { failures: [noProfile], resources: [] },
  ]) {
    const before = statusAfter(configurationState(speaker, finding));
    const after = statusAfter(desired, before);
    const [condition] = before?.conditions ?? [];
    const message = `${readProblem.message}; last result: ${condition?.message}`;
    expect(after).toEqual({ ...before, conditions: [{ ...condition, reason: readProblem.reason, message }] });
    expect(statusAfter(desired, after)).toBe(after);
  }
  const starting = statusAfter(configurationState(speaker));
  expect(statusAfter(desired, starting)).toMatchObject({ result: "Unknown", conditions: [{ status: "Unknown", ...readProblem }] });
});

test("a peer with an unreadable Secret keeps its last failure until its generation changes", () => {
  const earlier = statusAfter(configurationState(speaker, { failures: [wrongSecret, noProfile], resources: [] }));
  const finding = { failures: [], resources: [], unread: [unreadPeer(true)] };
  const now = statusAfter(configurationState(speaker, finding, secretUnread), earlier);
  expect(now).toMatchObject({ result: "Invalid", lastError: wrongSecret.message });
  expect(now?.failedResources).toEqual(earlier?.failedResources?.slice(0, 1));
  expect(now?.conditions?.[0]).toMatchObject({
    status: "False",
    reason: "SecretUnreadable",
    message: "The API does not let us read Secret s; otherwise: 1 resource is not in effect as written",
  });
  expect(statusAfter(configurationState(speaker, finding, secretUnread), now)).toBe(now);
  expect(statusAfter(configurationState(speaker, { ...finding, unread: [unreadPeer(true, 4)] }, secretUnread), now)?.result).toBe("Valid");
});

test("a peer left out for its unreadable Secret changes no result", () => {
  const finding = { failures: [], resources: [], unread: [unreadPeer(false)] };
  const picture = configurationState(speaker, finding, secretUnread);
  expect(statusAfter(picture)).toMatchObject({ result: "Unknown", conditions: [{ status: "Unknown", reason: "SecretUnreadable" }] });
  const valid = statusAfter(configurationState(speaker, { failures: [], resources: [] }));
  expect(statusAfter(picture, valid)).toMatchObject({ result: "Valid", conditions: [{ status: "True", reason: "SecretUnreadable" }] });
  const other = configurationState(speaker, { ...finding, failures: [noProfile] }, secretUnread);
  expect(statusAfter(other, valid)).toMatchObject({ result: "Invalid", lastError: noProfile.message });
});

test("links without carrier are listed and do not change the result", () => {
  const valid = { failures: [], resources: [] };
  const lost = statusAfter(configurationState(speaker, { ...valid, lostLinks: ["lan0"] }));
  expect(lost).toMatchObject({ result: "Valid", links: [{ name: "lan0", state: "NoCarrier" }] });
  expect(lost?.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual(["Valid=True", "LinksUp=False"]);
  const back = statusAfter(configurationState(speaker, { ...valid, lostLinks: [] }), lost);
  expect(back?.links).toBeUndefined();
  expect(back?.conditions?.map(({ type }) => type)).toEqual(["Valid"]);
});

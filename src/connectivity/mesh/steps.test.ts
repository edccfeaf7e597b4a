import { expect, test } from "vitest";
import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Probe } from "../../api/connectivity/probe.ts";
import { checkpointAnnotation, meshAnnotation, probeAnnotation, retiredAnnotation } from "../../api/annotations.ts";
import { checkpointSeconds, boundedMeshes, type NamespaceSteps, planNamespace, type MeshStep } from "./steps.ts";
import { planMesh } from "./plan.ts";
import { reportOf } from "./report.ts";
import { check, mesh, node, pod, service, SYSTEM, view, type Cluster } from "../testing/mesh.ts";

const now = new Date("2026-11-16T09:00:00Z");
const web = [pod("web-0"), pod("web-1")];
const db = service("shop/db", ["10.96.0.7"], { port: 443 });
const toDb = mesh("to-db", { targets: [{ service: { name: "db" } }] });

function planned(
  existing: readonly PodNetworkConnectivityCheck[],
  { meshes = [toDb], seconds = 60, ...cluster }: Cluster & { meshes?: (typeof toDb)[]; seconds?: number } = {},
): NamespaceSteps {
  const whole = { pods: web, services: [db], ...cluster };
  return planNamespace(
    meshes.map((one) => ({ mesh: one, plan: planMesh(one, view(whole)) })),
    {
      checks: new Map(existing.map((one) => [one.metadata.name, one])),
      sourceLives: ({ spec }) => whole.pods.some(({ metadata }) => metadata.name === spec.sourcePod),
      checkpointSeconds: seconds,
      now,
    },
  );
}

test("the meshes of a namespace share a limit: older ones come first, and one beyond the limit reports it and keeps its checks", () => {
  const all = ["one", "two", "three"].map((name) => mesh(name, { targets: [{ host: `${name}.test:80` }] }));
  const meshes = all.map((one) => ({ mesh: one, plan: planMesh(one, view({ pods: web })) }));
  const bounded = boundedMeshes(meshes, 3);
  expect(bounded.map(({ plan }) => plan.checks?.length)).toEqual([2, undefined, undefined]);
  expect(bounded[1]?.plan.problems).toEqual([
    "spec: 2 checks requested; the limit is 3 per namespace, and older meshes use 2; use fewer sources per target",
  ]);
  expect(boundedMeshes(meshes, 6)).toEqual(meshes);
});

/** The checks after the steps were taken. */
function after(existing: readonly PodNetworkConnectivityCheck[], steps: readonly MeshStep[]): PodNetworkConnectivityCheck[] {
  const checks = new Map(existing.map((one) => [one.metadata.name, one]));
  for (const step of steps) {
    if (step.do === "create") {
      checks.set(step.name, check(step.name, { metadata: step.object.metadata, spec: step.object.spec }));
      continue;
    }
    const { metadata, spec } = step.existing;
    const annotations = merged(metadata.annotations, step.patch.metadata?.annotations);
    const labels = merged(metadata.labels, step.patch.metadata?.labels);
    const { sourcePod = spec.sourcePod, targetEndpoint = spec.targetEndpoint } = merged({}, step.patch.spec);
    checks.set(
      metadata.name,
      check(metadata.name, { metadata: { ...metadata, annotations, labels }, spec: { sourcePod, targetEndpoint } } as object),
    );
  }
  return [...checks.values()];
}

function merged(existing: Record<string, string> = {}, patch: Record<string, string | null> = {}): Record<string, string> {
  const all = Object.entries({ ...existing, ...patch }).filter((entry): entry is [string, string] => entry[1] !== null);
  return Object.fromEntries(all);
}

const made = after([], planned([]).steps);
const [first, second] = made as [PodNetworkConnectivityCheck, PodNetworkConnectivityCheck];

test("a check is created for each pair, with the labels and annotations for its source and readers", () => {
  expect(made.map(({ metadata, spec }) => ({ ...metadata, spec }))).toEqual(
    ["web-0", "web-1"].map((name) => ({
      name: expect.stringMatching(new RegExp(`^${name}-to-db-service-443-[0-9a-f]{10}$`)) as string,
      namespace: "shop",
      uid: expect.anything() as string,
      resourceVersion: "1",
      labels: { "plumbline.dev/mesh": "to-db" },
      annotations: {
        "plumbline.dev/mesh": "to-db",
        "plumbline.dev/checkpoint-seconds": "60",
        "plumbline.dev/source-node": `node-of-${name}`,
        "plumbline.dev/target": "service/shop/db",
      },
      spec: { sourcePod: name, targetEndpoint: "10.96.0.7:443" },
    })),
  );
});

test("a check of a node has the node as label and annotation, shortened in the label if needed", () => {
  const long = `n1.${"a".repeat(63)}.example`;
  const nodes = [node(long, "192.0.2.1"), node("n2", "192.0.2.2")];
  const toNodes = mesh("x".repeat(100), { sources: { nodes: {} }, targets: [{ nodes: { port: 22 } }] }, SYSTEM);
  const { steps } = planned([], { nodes, meshes: [toNodes] });
  const created = steps.flatMap((step) => (step.do === "create" ? [step.object] : []));
  expect(created.map(({ spec }) => spec.sourcePod)).toEqual(["n2", long]);
  const labels = created[1]?.metadata.labels ?? {};
  expect(created[1]?.metadata.annotations).toMatchObject({ "plumbline.dev/node": long, "plumbline.dev/target-node": "n2" });
  for (const label of Object.values(labels)) expect(label).toMatch(/^[a-z0-9][-a-z0-9.]{1,61}[a-z0-9]$/);
  expect(Object.keys(labels)).toEqual(["plumbline.dev/mesh", "plumbline.dev/node"]);
});

test("applied steps leave nothing to do", () => {
  expect(planned(made).steps).toEqual([]);
  const edited = { ...first, metadata: { ...first.metadata, labels: {}, annotations: first.metadata.annotations ?? {} } };
  for (const existing of [[], [first], [second], [...made, check("somebodys")], [edited, second]]) {
    const once = after(existing, planned(existing).steps);
    expect(planned(once).steps).toEqual([]);
  }
});

const probing = (probe: Probe) => [mesh("to-db", { targets: [{ service: { name: "db" }, probe }] })];

test("the probe is written to the annotation, changed there, and reverted", () => {
  const https = probing({ type: "HTTPS", expect: { status: [200] } });
  const [created, other] = after([], planned([], { meshes: https }).steps) as [PodNetworkConnectivityCheck, PodNetworkConnectivityCheck];
  expect(created.metadata.annotations?.[probeAnnotation]).toBe('{"type":"HTTPS","expect":{"status":[200]}}');
  expect(planned([created, other], { meshes: https }).steps).toEqual([]);
  const annotations = { ...created.metadata.annotations, [probeAnnotation]: '{"type":"HTTP"}' };
  const edited = { ...created, metadata: { ...created.metadata, annotations } };
  expect(after([edited, other], planned([edited, other], { meshes: https }).steps)).toEqual([created, other]);
  const strange = { ...first, metadata: { ...first.metadata, annotations: { ...first.metadata.annotations, [probeAnnotation]: "{}" } } };
  expect(after([strange, second], planned([strange, second]).steps)).toEqual([first, second]);
});

test("a check that a user deleted is created again", () => {
  expect(planned([second]).steps).toMatchObject([{ do: "create", name: first.metadata.name }]);
});

test("a changed address is written into the existing check", () => {
  const moved = planned(made, { services: [service("shop/db", ["10.96.0.99"], { port: 443 })] });
  expect(moved.steps.map((step) => step.do !== "create" && [step.do, step.patch])).toEqual(
    made.map(() => ["change", { spec: { targetEndpoint: "10.96.0.99:443" } }]),
  );
});

test("an unwanted check is retired while its source exists, and resumed when it is wanted again", () => {
  const none = { services: [] };
  const { steps } = planned(made, none);
  expect(steps.map((step) => step.do !== "create" && [step.do, step.existing.metadata.name, step.patch])).toEqual(
    made.map(({ metadata }) => ["retire", metadata.name, { metadata: { annotations: { [retiredAnnotation]: "2026-11-16T09:00:00Z" } } }]),
  );
  const retired = after(made, steps);
  expect(planned(retired, none).steps).toEqual([]);
  const back = planned(retired);
  expect(back.steps.map(({ do: what }) => what)).toEqual(["change", "change"]);
  expect(after(retired, back.steps)).toEqual(made);
});

test("a check whose pod is gone is kept: a pod of that name may come back", () => {
  expect(planned(made, { pods: web.slice(1) }).steps).toEqual([]);
  expect(planned(made, { pods: [] }).steps).toEqual([]);
});

test("a deleted mesh leaves only retired checks", () => {
  const { steps } = planned(made, { meshes: [], pods: [] });
  expect(steps.map(({ do: what }) => what)).toEqual(["retire", "retire"]);
});

test("retirements come before new checks, and a full namespace gets no new check", () => {
  const elsewhere = mesh("to-others", { targets: [{ host: "db.example:5432" }] });
  const { steps } = planned(made, { meshes: [elsewhere] });
  expect(steps.map(({ do: what }) => what)).toEqual(["retire", "retire", "create", "create"]);
});

test("an invalid mesh keeps its checks", () => {
  const broken = mesh("to-db", { targets: toDb.spec.targets, sourcesPerTarget: 0 });
  const { steps, progress } = planned(made, { meshes: [broken] });
  expect(steps).toEqual([]);
  expect(progress.get("to-db")).toEqual({ existing: 2, missing: 0, taken: [] });
});

test("a target that fails keeps its checks and gets no new ones", () => {
  const endpoint = { addresses: ["10.0.0.1"], conditions: { ready: false } };
  const slices = [
    {
      metadata: { name: "db-1", namespace: "shop", labels: { "kubernetes.io/service-name": "db" } },
      addressType: "IPv4" as const,
      endpoints: [endpoint],
      ports: [{ port: 8443 }],
    },
  ];
  const well = slices.map((one) => ({ ...one, endpoints: [{ ...endpoint, conditions: { ready: true } }] }));
  const meshes = [mesh("to-db", { targets: [{ endpoints: { service: "db" } }] })];
  expect(planned([], { meshes, slices }).steps).toEqual([]);
  expect(planned([], { meshes, slices }).progress.get("to-db")).toEqual({ existing: 0, missing: 0, taken: [] });
  const existing = after([], planned([], { meshes, slices: well }).steps);
  expect(existing).toHaveLength(2);
  expect(planned(existing, { meshes, slices }).steps).toEqual([]);
  const given = planned(existing, { meshes, slices: [] }).steps;
  expect(given.map(({ do: what }) => what)).toEqual(["retire", "retire"]);
  // Once given up, it is taken up when the target is well, and not before.
  expect(planned(after(existing, given), { meshes, slices }).steps).toEqual([]);
  expect(planned(after(existing, given), { meshes, slices: well }).steps.map(({ do: what }) => what)).toEqual(["change", "change"]);
});

test("an existing check of that name without a mesh is left alone and reported", () => {
  const somebodys = check(first.metadata.name, { spec: { sourcePod: "mine", targetEndpoint: "mine:1" } });
  const { steps, progress } = planned([somebodys, second, check("other")]);
  expect(steps).toEqual([]);
  expect(progress.get("to-db")).toEqual({ existing: 1, missing: 0, taken: [first.metadata.name] });
});

test("two meshes share one check, and the second keeps it when the first is deleted", () => {
  const meshes = [toDb, mesh("as-well", { targets: toDb.spec.targets })];
  expect(planned([], { meshes }).steps).toHaveLength(2);
  expect(planned(made, { meshes }).steps).toEqual([]);
  const { steps, progress } = planned(made, { meshes: meshes.slice(1) });
  expect(progress.get("as-well")).toEqual({ existing: 2, missing: 0, taken: [] });
  expect(
    after(made, steps).map(({ metadata }) => [metadata.annotations?.[meshAnnotation], metadata.annotations?.[retiredAnnotation]]),
  ).toEqual([
    ["as-well", undefined],
    ["as-well", undefined],
  ]);
});

test("fields of others stay on a check", () => {
  const noted = { ...first, metadata: { ...first.metadata, annotations: { ...first.metadata.annotations, note: "mine" }, labels: {} } };
  // Without its label the check does not belong to a mesh.
  expect(planned([noted, second]).progress.get("to-db")?.taken).toEqual([first.metadata.name]);
  const labeled = { ...noted, metadata: { ...noted.metadata, labels: { ...first.metadata.labels, team: "a" } } };
  const [changed] = after([labeled, second], planned([labeled, second], { seconds: 120 }).steps);
  expect(changed?.metadata.labels).toMatchObject({ team: "a" });
  expect(changed?.metadata.annotations).toMatchObject({ note: "mine", [checkpointAnnotation]: "120" });
});

test("a check with a deletion timestamp is not written", () => {
  const leaving = made.map(({ metadata, spec }) =>
    check(metadata.name, { metadata: { ...metadata, deletionTimestamp: "2026-11-16T08:59:00Z" }, spec }),
  );
  expect(planned(leaving, { seconds: 120 }).steps).toEqual([]);
  expect(planned(leaving, { meshes: [] }).steps).toEqual([]);
});

test.each([
  [0, undefined, 60],
  [300, undefined, 60],
  [301, undefined, 120],
  [601, 60, 300],
  [1501, 60, 600],
  [90_000, undefined, 600],
  [299, 120, 120],
  [241, 120, 120],
  [240, 120, 60],
  [0, 600, 60],
])("%i checks that were refreshed every %s s are refreshed every %i s", (checks, current, seconds) => {
  expect(checkpointSeconds(checks, current)).toBe(seconds);
});

test.each([
  ["all checks exist", { problems: [] }, { missing: 0, taken: [] }, [], "True Complete All checks exist"],
  ["checks are missing", { problems: [] }, { missing: 7, taken: [] }, [], "False Creating 7 checks not created yet"],
  [
    "all targets are wrong",
    { problems: ["spec.sources: none", "spec.targets[0]: none"] },
    { missing: 7, taken: ["a"] },
    ["no"],
    "False Incomplete spec.sources: none; spec.targets[0]: none; PodNetworkConnectivityCheck a exists and does not belong to a mesh; delete or rename it; no",
  ],
  [
    "the server rejects a check",
    { problems: [] },
    { missing: 0, taken: [] },
    ["1", "2", "3", "4", "5", "6", "7"],
    "False Refused 1; 2; 3; 4; 5; and 2 more",
  ],
])("a mesh reports that %s", (_what, { problems }, { missing, taken }, rejected, expected) => {
  const plan = { checks: [], sources: 2, targets: 3, problems };
  const { conditions, ...counts } = reportOf(plan, { existing: 5, missing, taken }, rejected, 4);
  expect(counts).toEqual({ sources: 2, targets: 3, checks: 5 });
  const [{ status, reason, message, observedGeneration } = { status: "", reason: "", message: "", observedGeneration: 0 }] = conditions;
  expect([`${status} ${reason} ${message}`, observedGeneration]).toEqual([expected, 4]);
});

test("a mesh reports what it does not observe, a hundred Services at most, and its number", () => {
  const progress = { existing: 0, missing: 0, taken: [] };
  const report = (count: number) => {
    const notObserved = Array.from({ length: count }, (_, nth) => ({ service: `shop/web-${nth}`, reason: "NoTCPPort" as const }));
    return reportOf({ checks: [], sources: 1, targets: 0, problems: [], notObserved }, progress, [], 1);
  };
  expect(report(0)).toMatchObject({ conditions: [{ status: "True" }] });
  expect(report(0)).not.toHaveProperty("notObserved");
  expect(report(101).notObserved).toHaveLength(100);
  expect(report(101)).toMatchObject({ notObservedServices: 101, conditions: [{ status: "True", reason: "Complete" }] });
});

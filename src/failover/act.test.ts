import { expect, test } from "vitest";
import { Deployment } from "../api/core/deployment.ts";
import { StatefulSet } from "../api/core/stateful-set.ts";
import type { FailoverPolicy } from "../api/failover/failover-policy.ts";
import type { ManagedKind } from "../api/failover/policy-fields.ts";
import type { Kind } from "../api/kind.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { KubeError, type KubeErrorCode } from "../kube/client/error.ts";
import { createLog } from "../kube/log.ts";
import { act, removeFinalizer, mayRemoveFinalizer, stillFailingWrites } from "./act.ts";
import type { SwitchPlan, SwitchStep, StepName } from "./steps/step.ts";

const { signal } = new AbortController();
const log = createLog({ level: "silent" });
const withFinalizer: FailoverPolicy = {
  metadata: { name: "site", namespace: "shop", resourceVersion: "7", finalizers: ["other", "plumbline.dev/failover"] },
  spec: { desiredState: "secondary" },
};
const fresh: FailoverPolicy = { ...withFinalizer, metadata: { ...withFinalizer.metadata, finalizers: ["other"] } };

/** A server that takes every write but those to the names that it refuses. */
function server(rejects: Record<string, KubeErrorCode> = {}) {
  const writes: string[] = [];
  let underWay = 0;
  let most = 0;
  let version = 100;
  const take =
    (kind: Kind, part: string) =>
    async (ref: { name: string }, patch: object, { resourceVersion = "" }) => {
      most = Math.max(most, ++underWay);
      await Promise.resolve();
      underWay -= 1;
      const code = rejects[ref.name];
      if (code) throw new KubeError(code, `${code} says the server`);
      writes.push(`${kind.kind}${part} ${ref.name}@${resourceVersion} ${JSON.stringify(patch)}`);
      return { metadata: { ...withFinalizer.metadata, name: ref.name, resourceVersion: String(++version) } };
    };
  const client = { resource: (kind: Kind) => ({ patch: take(kind, ""), patchStatus: take(kind, "/status") }) };
  return { client: client as unknown as KubeClient, writes, most: () => most };
}

function step(name: StepName, names: readonly string[], changes: Partial<SwitchStep> = {}, kind: Kind = Deployment): SwitchStep {
  const writes = names.map((each) => ({
    kind,
    object: { metadata: { name: each, namespace: "shop", resourceVersion: "3" } },
    patch: {},
    description: `scale ${each}`,
  }));
  return { name, state: "Act", writes, waits: [], ...changes };
}

function plan(mode: SwitchPlan["mode"], ...steps: SwitchStep[]): SwitchPlan {
  return {
    to: "secondary",
    mode,
    rejections: [],
    notes: [],
    failures: [],
    steps,
    resources: [],
    currentState: "primary",
    complete: false,
    writesStopped: false,
    priorStates: [],
    ready: { status: "Unknown", reason: "InProgress", findings: [] },
  };
}

test("safe mode runs the steps in sequence, each write with the observed resourceVersion", async () => {
  const { client, writes } = server();
  const steps = [step("SuspendFlux", ["a", "b"]), step("ScaleDown", ["c"]), step("DemoteVolumes", ["d"], { state: "Pending" })];
  const outcome = await act(plan("safe", ...steps), withFinalizer, { client, log }, signal);
  expect(writes).toEqual(["Deployment a@3 {}", "Deployment b@3 {}", "Deployment c@3 {}"]);
  expect(outcome).toMatchObject({ failures: [], again: false });
  expect(outcome.written).toEqual(
    ["a", "b", "c"].map((name, at) => ({ kind: "Deployment", namespace: "shop", name, resourceVersion: String(101 + at) })),
  );
});

test("safe mode writes only objects of one kind and step in parallel", async () => {
  const down = [...step("ScaleDown", ["a", "b", "c"]).writes, ...step("ScaleDown", ["d", "e"], {}, StatefulSet).writes];
  const { client, writes, most } = server();
  await act(plan("safe", step("UpdateDNS", ["x"]), step("ScaleDown", [], { writes: down })), withFinalizer, { client, log }, signal);
  expect(writes.map((write) => write.split("@")[0])).toEqual([
    "Deployment x",
    ...["a", "b", "c"].map((name) => `Deployment ${name}`),
    "StatefulSet d",
    "StatefulSet e",
  ]);
  expect(most()).toBe(3);
});

test("unsafe mode writes all objects in parallel", async () => {
  const { client, writes, most } = server();
  await act(plan("unsafe", step("SuspendFlux", ["a", "b"]), step("DemoteVolumes", ["c"])), withFinalizer, { client, log }, signal);
  expect(writes).toHaveLength(3);
  expect(most()).toBe(3);
});

test("the finalizer of the policy is written first, and its other finalizers stay", async () => {
  const { client, writes } = server();
  await act(plan("unsafe", step("ScaleDown", ["a"])), fresh, { client, log }, signal);
  expect(writes).toEqual(['FailoverPolicy site@7 {"metadata":{"finalizers":["other","plumbline.dev/failover"]}}', "Deployment a@3 {}"]);
  const after = server();
  await removeFinalizer(withFinalizer, { client: after.client, log }, signal);
  expect(after.writes).toEqual(['FailoverPolicy site@7 {"metadata":{"finalizers":["other"]}}']);
});

test("a token is written first, with the resourceVersion of the policy that was read", async () => {
  const { client, writes } = server();
  const token = { epoch: 4, state: "Held" } as const;
  await act(plan("unsafe", step("TakeToken", [], { token }), step("ScaleDown", ["a"])), fresh, { client, log }, signal);
  expect(writes[1]).toBe('FailoverPolicy/status site@101 {"status":{"token":{"copied":null,"epoch":4,"state":"Held","forced":null}}}');
  expect(writes[2]).toBe("Deployment a@3 {}");
});

test("the status is written between the writes to the policy and all others, rejected or not", async () => {
  const token = { epoch: 4, state: "Held" } as const;
  const steps = plan("safe", step("TakeToken", [], { token }), step("ScaleDown", ["a"]));
  const order = async ({ client, writes }: ReturnType<typeof server>) => {
    await act(steps, fresh, { client, log, onPolicyWritten: () => void writes.push("told") }, signal);
    return writes.map((write) => write.split("@")[0]);
  };
  expect(await order(server())).toEqual(["FailoverPolicy site", "FailoverPolicy/status site", "told", "Deployment a"]);
  expect(await order(server({ site: "Forbidden" }))).toEqual(["told"]);
});

test("a dropped token is removed", async () => {
  const { client, writes } = server();
  await act(plan("safe", step("ForgetToken", [], { token: null })), withFinalizer, { client, log }, signal);
  expect(writes).toEqual(['FailoverPolicy/status site@7 {"status":{"token":null}}']);
});

test("a forced token is written with its reason", async () => {
  const { client, writes } = server();
  const token = { epoch: 4, state: "Held" } as const;
  await act({ ...plan("safe", step("TakeToken", [], { token })), forced: "it burnt down" }, withFinalizer, { client, log }, signal);
  expect(writes).toEqual([
    'FailoverPolicy/status site@7 {"status":{"token":{"copied":null,"epoch":4,"state":"Held","forced":"it burnt down"}}}',
  ]);
});

test.each(["safe", "unsafe"] as const)("if the policy has changed meanwhile, nothing is written in %s mode", async (mode) => {
  const { client, writes } = server({ site: "Conflict" });
  const steps = plan(mode, step("TakeToken", [], { token: { epoch: 4, state: "Held" } }), step("ScaleDown", ["a"]));
  expect(await act(steps, fresh, { client, log }, signal)).toMatchObject({ again: true, failures: [] });
  expect(await act(steps, withFinalizer, { client, log }, signal)).toMatchObject({ again: true, failures: [] });
  expect(writes).toEqual([]);
});

test("an object that a user changed meanwhile is read again before the next step", async () => {
  const { client, writes } = server({ a: "Conflict" });
  const outcome = await act(
    plan("safe", step("SuspendCronJobs", ["a", "b"]), step("ScaleDown", ["c"])),
    withFinalizer,
    { client, log },
    signal,
  );
  expect(writes).toEqual(["Deployment b@3 {}"]);
  expect(outcome).toMatchObject({ again: true, failures: [], conflictFailures: [{ kind: "Deployment", namespace: "shop", name: "a" }] });
});

test.for<[mode: SwitchPlan["mode"], code: KubeErrorCode]>([
  ["safe", "Conflict"],
  ["safe", "Forbidden"],
  ["unsafe", "Conflict"],
  ["unsafe", "Timeout"],
])("in %s mode KEDA is not paused while the replicas of its workload are not recorded, as after %s", async ([mode, code]) => {
  const { client, writes } = server({ a: code });
  const [workload] = step("ScaleDown", ["a"]).writes;
  const [pause] = step("ScaleDown", ["keda"], {}, StatefulSet).writes;
  if (!workload || !pause) throw new Error("no writes");
  const scaling = step("ScaleDown", [], { writes: [workload, { ...pause, after: workload.object }] });
  await act(plan(mode, scaling), withFinalizer, { client, log }, signal).catch(() => undefined);
  expect(writes).toEqual([]);
});

test("a rejected write affects only its own resource", async () => {
  const { client, writes } = server({ a: "Forbidden", b: "ServerError" });
  const outcome = await act(plan("safe", step("UpdateDNS", ["a", "b"]), step("ScaleDown", ["c"])), withFinalizer, { client, log }, signal);
  expect(writes).toEqual(["Deployment c@3 {}"]);
  const about = { kind: "Deployment", namespace: "shop" };
  expect(outcome.failures).toEqual([
    { ...about, name: "a", reason: "Forbidden", message: "Could not scale a: Forbidden says the server", class: "Permanent" },
    { ...about, name: "b", reason: "WriteFailed", message: "Could not scale b: ServerError says the server", class: "Transient" },
  ]);
});

test("nothing is scaled down while Flux could not be suspended: it would scale up again", async () => {
  const { client, writes } = server({ a: "Forbidden" });
  const steps = [step("SuspendFlux", ["a", "b"]), step("UpdateDNS", ["c"]), step("ScaleDown", ["d"])];
  await act(plan("safe", ...steps), withFinalizer, { client, log }, signal);
  expect(writes).toEqual(["Deployment b@3 {}", "Deployment c@3 {}"]);
});

test("an uncertain write is reported and repeated before its successors", async () => {
  const { client, writes } = server({ a: "Timeout" });
  const outcome = await act(plan("safe", step("UpdateDNS", ["a", "b"]), step("ScaleDown", ["c"])), withFinalizer, { client, log }, signal);
  expect(writes).toEqual(["Deployment b@3 {}"]);
  expect(outcome).toMatchObject({ again: true, failures: [{ name: "a", reason: "WriteFailed", class: "Transient" }] });
});

test("DNS and CronJobs are not switched while a volume cannot be promoted", async () => {
  const { client, writes } = server({ a: "Forbidden" });
  const steps = [step("PromoteVolumes", ["a", "b"]), step("UpdateDNS", ["c"]), step("ResumeCronJobs", ["d"])];
  await act(plan("safe", ...steps), withFinalizer, { client, log }, signal);
  expect(writes).toEqual(["Deployment b@3 {}"]);
});

test.for<[policy: FailoverPolicy, text: string]>([
  [fresh, "add finalizer plumbline.dev/failover"],
  [withFinalizer, "take token Held of epoch 4"],
])("a policy that cannot be written is reported as the blocker, and nothing else is written: %$", async ([policy, text]) => {
  const { client, writes } = server({ site: "Forbidden" });
  const steps = [step("TakeToken", [], { token: { epoch: 4, state: "Held" } }), step("ScaleDown", ["a"])];
  expect(await act(plan("safe", ...steps), policy, { client, log }, signal)).toMatchObject({
    failures: [{ kind: "FailoverPolicy", namespace: "shop", name: "site", reason: "Forbidden", message: expect.stringContaining(text) }],
  });
  expect(writes).toEqual([]);
});

test("a rejected write is reported until it is no longer needed", async () => {
  const { client } = server({ a: "Forbidden", site: "Forbidden" });
  const scaling = plan("safe", step("ScaleDown", ["a", "b"]));
  const { failures } = await act(scaling, withFinalizer, { client, log }, signal);
  expect(failures).toHaveLength(1);
  expect(stillFailingWrites(failures, scaling)).toEqual(failures);
  // Somebody else has done it, or it has to wait for something else by now.
  expect(stillFailingWrites(failures, plan("safe", step("ScaleDown", ["b"])))).toEqual([]);
  expect(stillFailingWrites(failures, plan("safe", step("ScaleDown", ["a"], { state: "Pending" })))).toEqual([]);
  const { failures: unheld } = await act(scaling, fresh, { client, log }, signal);
  expect(stillFailingWrites(unheld, scaling)).toEqual(unheld);
  expect(stillFailingWrites(unheld, plan("safe", step("ScaleDown", [], { state: "Done" })))).toEqual([]);
});

test.each(["Unreachable", "Fenced", "Unauthorized"] as const)("%s is no failure of a resource and ends the pass", async (code) => {
  const { client, writes } = server({ a: code });
  const steps = plan("safe", step("UpdateDNS", ["a", "b"]), step("ScaleDown", ["c"]));
  await expect(act(steps, withFinalizer, { client, log }, signal)).rejects.toMatchObject({ code });
  // What was under way has arrived before it is told, and nothing comes after.
  expect(writes).toEqual(["Deployment b@3 {}"]);
});

const resource = (kind: ManagedKind, state: string) => ({ resource: { kind, namespace: "shop", name: "a", field: "" }, state });

test("a policy that is deleted during a switch keeps its finalizer until the end, but not for missing objects", () => {
  const deleted = { ...withFinalizer, metadata: { ...withFinalizer.metadata, deletionTimestamp: "2026-11-16T12:00:00Z" } };
  const running = plan("safe", step("ScaleDown", ["a"]), step("AwaitVolumes", [], { state: "Wait" }));
  const some = { ...running, resources: [resource("Deployment", "Active"), resource("VolumeReplication", "Not Found")] };
  const none = { ...running, resources: [resource("Deployment", "Not Found"), resource("VolumeReplication", "Not Found")] };
  const done = { ...some, steps: [step("ScaleDown", [], { state: "Done" })] };
  expect([running, some, none, done].map((each) => mayRemoveFinalizer(withFinalizer, each))).toEqual([false, false, false, false]);
  expect(
    [
      { ...some, complete: true },
      { ...done, complete: true },
    ].map((each) => mayRemoveFinalizer(withFinalizer, each)),
  ).toEqual([true, true]);
  expect([some, none, done].map((each) => mayRemoveFinalizer(deleted, each))).toEqual([false, true, true]);
  // Without its volumes a site never becomes primary.
  expect(mayRemoveFinalizer(deleted, { ...some, to: "primary" })).toBe(true);
  expect(mayRemoveFinalizer(deleted, { ...running, to: "primary", resources: [resource("VolumeReplication", "Error")] })).toBe(false);
});

test("a policy that is deleted does not wait for an application that does not start", () => {
  const deleted = { ...withFinalizer, metadata: { ...withFinalizer.metadata, deletionTimestamp: "2026-11-16T12:00:00Z" } };
  const started = { ...plan("safe", step("AwaitWorkloads", [], { state: "Wait" })), resources: [resource("Deployment", "Active")] };
  expect([withFinalizer, deleted].map((policy) => mayRemoveFinalizer(policy, started))).toEqual([false, true]);
});

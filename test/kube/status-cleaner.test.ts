import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { DaemonSet } from "../../src/api/core/daemon-set.ts";
import { Node } from "../../src/api/core/node.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { createLog } from "../../src/kube/log.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { durationMs, eventually, installKinds, Membership, throughout } from "./fixtures/membership.ts";

const { signal } = new AbortController();
let api: SuiteApiServer;

beforeAll(async () => {
  api = await apiServer("status-cleaner");
  const client = new KubeClient(api.access);
  await installKinds(client);
  client.close();
});

afterAll(() => api.stop());

/** A controller and these agents, all of which have reported and are known to be alive. */
async function living(
  { onTestFinished }: TestContext,
  nodes: readonly string[],
  options: { daemonSet?: string } = {},
): Promise<Membership> {
  const membership = await Membership.create(api, nodes);
  onTestFinished(() => membership.end());
  for (const node of nodes) membership.startAgent(node);
  membership.startController({ agents: options.daemonSet });
  await eventually(async () => {
    expect(await membership.ready(...nodes)).toEqual(nodes.map(() => "True"));
    expect((await membership.members())?.live).toEqual(nodes);
  });
  return membership;
}

// Each waits most of the time, with a controller and nodes of its own.
describe.concurrent("the status cleaner", () => {
  test("marks the report of an agent that does not report Unknown until the agent is back; other reports are unchanged", async (context) => {
    const it = await living(context, ["one-a", "one-b", "one-c"]);
    const before = await it.report("one-b");
    await it.stopAgents("one-a");
    await eventually(async () => {
      expect(await it.ready("one-a")).toEqual(["Unknown AgentNotReporting"]);
      expect((await it.members())?.live).toEqual(["one-b", "one-c"]);
    });
    const marked = await it.report("one-a");
    expect(marked?.status?.conditions?.map(({ type, status }) => [type, status])).toEqual([
      ["Ready", "Unknown"],
      ["Degraded", "Unknown"],
    ]);
    expect(marked?.status?.conditions?.[0]?.message).toMatch(/^Agent on node one-a has not reported since 20\d\d-/);
    expect((await it.report("one-b"))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);

    it.startAgent("one-a");
    await eventually(async () => {
      expect(await it.ready("one-a", "one-b", "one-c")).toEqual(["True", "True", "True"]);
      expect((await it.members())?.live).toEqual(["one-a", "one-b", "one-c"]);
    });
    await throughout(1, async () => expect(await it.ready("one-a")).toEqual(["True"]));
  });

  test("many agents that stop at once: one Event, then the marks, and no second Event", async (context) => {
    const nodes = ["many-a", "many-b", "many-c", "many-d", "many-e"];
    const it = await living(context, nodes);
    const silent = nodes.slice(0, 4);
    await it.stopAgents(...silent);
    await eventually(async () => {
      expect(await it.ready(...silent)).toEqual(silent.map(() => "Unknown AgentNotReporting"));
      expect((await it.members())?.live).toEqual(["many-e"]);
    });
    // The store numbers all writes in one row.
    const [event, ...more] = await it.events();
    expect([event?.type, event?.reason, more]).toEqual(["Warning", "ManyAgentsNotReporting", []]);
    for (const later of [await it.stored(), ...(await Promise.all(silent.map((node) => it.report(node))))]) {
      expect(Number(later?.metadata.resourceVersion)).toBeGreaterThan(Number(event?.metadata.resourceVersion));
    }
    expect(await it.ready("many-e")).toEqual(["True"]);
    expect((await it.events()).map(({ reason, count }) => [reason, count])).toEqual([["ManyAgentsNotReporting", 1]]);
  });

  test("a report is deleted with its Lease when the Node is gone, and only then", async (context) => {
    const it = await living(context, ["gone-a", "gone-b", "gone-c"]);
    await it.stopAgents("gone-a", "gone-b");
    await eventually(async () =>
      expect(await it.ready("gone-a", "gone-b")).toEqual(["Unknown AgentNotReporting", "Unknown AgentNotReporting"]),
    );
    await it.client.resource(Node).delete({ name: "gone-a" }, { signal });
    await eventually(async () => {
      expect(await it.report("gone-a")).toBeUndefined();
      expect(await it.hasLease("gone-a")).toBe(false);
    });
    await throughout(2, async () => {
      expect(await it.ready("gone-b")).toEqual(["Unknown AgentNotReporting"]);
      expect(await it.hasLease("gone-b")).toBe(true);
    });
  });

  test("a Node that is deleted while its agent lives costs the agent nothing", async (context) => {
    const it = await living(context, ["alive-a", "alive-b"]);
    const { uid } = (await it.report("alive-a"))?.metadata ?? {};
    await it.client.resource(Node).delete({ name: "alive-a" }, { signal });
    await throughout(2, async () => expect((await it.report("alive-a"))?.metadata.uid).toBe(uid));
  });

  test("a part that is switched off: its report is Unknown, then deleted; that of the part which runs, and of an older agent, stay", async (context) => {
    const it = await Membership.create(api, ["part-a", "part-b"]);
    context.onTestFinished(() => it.end());
    const results = await speakerReports(context, it, ["part-a", "part-b"]);
    it.startAgent("part-a", { parts: ["router", "loadbalancer"] });
    it.startAgent("part-b");
    it.startController({ loadBalancer: true });
    await eventually(async () => expect((await it.members())?.live).toEqual(["part-a", "part-b"]));
    await throughout(1.5, async () =>
      expect([...results]).toEqual([
        ["speaker-part-a", ["Valid"]],
        ["speaker-part-b", ["Valid"]],
      ]),
    );

    await it.stopAgents("part-a");
    it.startAgent("part-a", { parts: ["router"] });
    await eventually(async () => expect(results.get("speaker-part-a")).toEqual(["Valid", "Unknown PartSwitchedOff", "deleted"]));
    expect(results.get("speaker-part-b")).toEqual(["Valid"]);
    expect(await it.ready("part-a", "part-b")).toEqual(["True", "True"]);
    expect(await it.hasLease("part-a")).toBe(true);
  });

  test("where agents are Pods, a report is deleted once the settled DaemonSet has had none on the node for a full duration", async (context) => {
    const nodes = ["pods-a", "pods-b", "pods-c"];
    const it = await living(context, nodes, { daemonSet: "agent" });
    const daemonSet = await createDaemonSet(it);
    for (const node of nodes) await createPod(it, daemonSet, node);
    await rollOut(it, daemonSet, { scheduled: 3, desired: 3 });
    await it.stopAgents("pods-a", "pods-b");
    await eventually(async () =>
      expect(await it.ready("pods-a", "pods-b")).toEqual(["Unknown AgentNotReporting", "Unknown AgentNotReporting"]),
    );

    await rollOut(it, daemonSet, { scheduled: 2, desired: 3 });
    await removePod(it, "pods-a");
    await throughout(2, async () => expect(await it.ready("pods-a")).toEqual(["Unknown AgentNotReporting"]));

    // That the agent of pods-b is not ready is no matter.
    await rollOut(it, daemonSet, { scheduled: 2, desired: 2 });
    await eventually(async () => {
      expect(await it.report("pods-a")).toBeUndefined();
      expect(await it.hasLease("pods-a")).toBe(false);
    });
    await throughout(1, async () => expect(await it.ready("pods-b", "pods-c")).toEqual(["Unknown AgentNotReporting", "True"]));
  });
});

test("an outage of the API server that is longer than the Lease duration marks no agent", async (context) => {
  const nodes = ["away-a", "away-b", "away-c"];
  const it = await living(context, nodes);
  api.server.pause();
  await new Promise((resolve) => {
    setTimeout(resolve, 2 * durationMs);
  });
  api.server.resume();
  await throughout(3, async () => {
    expect(await it.ready(...nodes)).toEqual(["True", "True", "True"]);
    expect((await it.members())?.live).toEqual(nodes);
  });
});

/** The reports of speakers on these nodes, kept up to date. */
async function speakerReports({ onTestFinished }: TestContext, it: Membership, nodes: readonly string[]): Promise<Map<string, string[]>> {
  const states = it.client.resource(ConfigurationState);
  for (const node of nodes) {
    const metadata = { name: `speaker-${node}`, namespace: it.metallb, annotations: { "plumbline.dev/node": node } };
    await states.create({ metadata }, { signal });
    await states.patchStatus(metadata, { status: { result: "Valid", lastError: "" } }, { signal });
  }
  const results = new Map<string, string[]>();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const cache = new Cache(it.client, ConfigurationState, { namespace: it.metallb, log: createLog({ level: "error" }) });
  cache.subscribe(({ type, object: { metadata, status } }) => {
    if (!metadata.name.startsWith("speaker-")) return;
    const reason = status?.conditions?.find((condition) => condition.type === "Valid")?.reason;
    const result = type === "deleted" ? "deleted" : [status?.result, reason].filter((part) => part !== undefined).join(" ");
    const before = results.get(metadata.name) ?? [];
    if (before.at(-1) !== result) results.set(metadata.name, [...before, result]);
  });
  cache.start(stop.signal);
  await cache.waitForSync(signal);
  return results;
}

async function createDaemonSet({ client, namespace }: Membership): Promise<DaemonSet> {
  const labels = { app: "agent" };
  const template: object = { metadata: { labels }, spec: { containers: [{ name: "agent", image: "agent" }] } };
  const metadata = { name: "agent", namespace };
  // No Pod without an account, and no controller here that would make one.
  await client.request("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: { metadata: { name: "default" } }, signal });
  return client.resource(DaemonSet).create({ metadata, spec: { selector: { matchLabels: labels }, template } }, { signal });
}

/** What the DaemonSet's controller would report, were there one. */
async function rollOut({ client }: Membership, { metadata }: DaemonSet, numbers: { scheduled: number; desired: number }): Promise<void> {
  const { scheduled, desired } = numbers;
  const status = {
    observedGeneration: metadata.generation,
    desiredNumberScheduled: desired,
    currentNumberScheduled: scheduled,
    updatedNumberScheduled: scheduled,
    numberReady: 1,
    numberMisscheduled: 0,
  };
  await client.resource(DaemonSet).patchStatus(metadata, { status }, { signal });
}

async function createPod({ client, namespace }: Membership, { metadata }: DaemonSet, node: string): Promise<void> {
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: metadata.name, uid: metadata.uid ?? "", controller: true };
  const spec = { nodeName: node, containers: [{ name: "agent", image: "agent" }] };
  await client.resource(Pod).create({ metadata: { name: `agent-${node}`, namespace, ownerReferences: [owner] }, spec }, { signal });
}

/** At once: there is no kubelet that would let it end. */
async function removePod({ client, namespace }: Membership, node: string): Promise<void> {
  await client.request("DELETE", `/api/v1/namespaces/${namespace}/pods/agent-${node}`, { body: { gracePeriodSeconds: 0 }, signal });
}

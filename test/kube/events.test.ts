import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { silent } from "../../lab/progress.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Event } from "../../src/api/core/event.ts";
import { Node } from "../../src/api/core/node.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import { createLog } from "../../src/kube/log.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";

let api: SuiteApiServer;
let client: KubeClient;
let recorder: EventRecorder;
let stop: AbortController;
let run: Promise<void>;
const never = new AbortController().signal;

beforeAll(async () => {
  api = await apiServer("events");
  client = new KubeClient(api.access);
});

afterAll(async () => {
  client.close();
  await api.stop();
});

beforeEach(() => {
  stop = new AbortController();
  recorder = new EventRecorder({ client, component: "plumbline-test", instance: "test-1", log: createLog({ level: "silent" }) });
  run = recorder.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await run;
});

async function create<T extends KubeObject>(kind: Kind<T>, metadata: { name: string; namespace?: string }): Promise<T> {
  return (await client.resource<KubeObject>(kind).create({ metadata }, { signal: never })) as T;
}

async function eventsAbout(object: KubeObject): Promise<Event[]> {
  const fieldSelector = `involvedObject.uid=${object.metadata.uid}`;
  return (await client.resource(Event).list({ fieldSelector, signal: never })).items;
}

const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

async function kubectl(...args: string[]): Promise<string> {
  const [program = "", ...first] = (await kubeBinaries(silent)).command("kubectl") ?? [];
  const { stdout } = await promisify(execFile)(program, [...first, "--kubeconfig", await api.server.kubeconfig("admin"), ...args]);
  return stdout;
}

test("what happens to an object again and again is one Event with a count, and kubectl describe shows it", async () => {
  const lamp = await create(ConfigMap, { name: "lamp", namespace: "default" });
  for (let n = 1; n <= 3; n++) {
    recorder.record(lamp, { type: "Warning", reason: "Flickers", message: "the lamp flickers" });
    await eventually(async () => expect(await eventsAbout(lamp)).toMatchObject([{ count: n, reason: "Flickers" }]));
  }
  expect(await kubectl("describe", "configmap", "lamp")).toMatch(
    /Warning\s+Flickers\s+\S+ \(x3 over \S+\)\s+plumbline-test\s+the lamp flickers/,
  );
});

test("the Events of an object without namespace are in default, where kubectl describe finds them", async () => {
  const node = await create(Node, { name: "node-1" });
  recorder.record(node, { type: "Normal", reason: "Lit", message: "all lamps burn" });
  await eventually(async () => expect(await eventsAbout(node)).toMatchObject([{ metadata: { namespace: "default" }, count: 1 }]));
  expect(await kubectl("describe", "node", "node-1")).toMatch(/Normal\s+Lit\s+\S+\s+plumbline-test\s+all lamps burn/);
});

test("many messages of one kind end as one combined Event", async () => {
  const lamp = await create(ConfigMap, { name: "christmas-tree", namespace: "default" });
  for (let n = 1; n <= 20; n++) recorder.record(lamp, { type: "Normal", reason: "Lit", message: `lamp ${n} burns` });
  stop.abort();
  await run;
  const events = await eventsAbout(lamp);
  expect(events).toHaveLength(10);
  expect(events.find(({ message }) => message?.startsWith("(combined"))).toMatchObject({
    message: "(combined from similar events): lamp 20 burns",
    count: 11,
  });
});

test("writes an Event again that was deleted meanwhile", async () => {
  const lamp = await create(ConfigMap, { name: "old-lamp", namespace: "default" });
  const flicker = { type: "Warning", reason: "Flickers", message: "the lamp flickers" } as const;
  recorder.record(lamp, flicker);
  await eventually(async () => expect(await eventsAbout(lamp)).toHaveLength(1));
  await client.request("DELETE", "/api/v1/namespaces/default/events", { signal: never });
  recorder.record(lamp, flicker);
  await eventually(async () => expect(await eventsAbout(lamp)).toMatchObject([{ count: 2 }]));
});

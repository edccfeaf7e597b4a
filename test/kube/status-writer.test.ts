import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { Namespace } from "../../src/api/core/namespace.ts";
import { crdOf, CustomResourceDefinition } from "../../src/api/crds/crd.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { statusErrors } from "../../src/kube/metrics.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { namespace, nodeOwner, ready, Reporter } from "./fixtures/reporter.ts";

const { signal } = new AbortController();
let api: SuiteApiServer;
let client: KubeClient;

beforeAll(async () => {
  api = await apiServer("status-writer", { audit: true });
  client = new KubeClient(api.access);
  await client.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
  const crds = client.resource(CustomResourceDefinition);
  await crds.create(crdOf(RouterNodeConfigurationStatus), { signal });
  await vi.waitFor(() => client.resource(RouterNodeConfigurationStatus).list({ signal }), { timeout: 60_000 });
});

afterAll(async () => {
  client.close();
  await api.stop();
});

/** Another client. */
const objects = () => client.resource(RouterNodeConfigurationStatus);
const read = (name: string) => objects().get(name, { namespace, signal });
const message = async (name: string) => (await read(name)).status?.conditions?.[0]?.message;

const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });
/** Long enough for anything that is going to be sent. */
const quiet = () => sleep(700);

function reporter(name: string): Reporter {
  const started = new Reporter(api, name);
  onTestFinished(() => started.end());
  return started;
}

test("fifty objects are created and reported; twenty more identical passes make no request at all", async () => {
  const reports = reporter("level");
  const names = Array.from({ length: 50 }, (_, index) => `level-${index}`);
  const pass = () => {
    for (const name of names) reports.set(name, ready("True", "All configuration applied successfully"));
  };
  pass();
  await eventually(async () => {
    for (const name of names) expect(await message(name)).toBe("All configuration applied successfully");
  });
  const first = await reports.requests();
  expect(first.toSorted()).toEqual(names.flatMap((name) => [`create ${name} 201`, `patch ${name}/status 200`]).toSorted());
  for (let n = 0; n < 20; n++) {
    pass();
    await sleep(20);
  }
  await quiet();
  expect(await reports.requests()).toEqual(first);
});

test("what a foreign hand edits, relabels or deletes is as it was a moment later", async () => {
  const reports = reporter("repair");
  reports.set("repair", ready("True", "ours"));
  await eventually(async () => expect(await message("repair")).toBe("ours"));
  const { status } = await read("repair");

  await objects().patchStatus({ name: "repair", namespace }, { status: { conditions: null, failedResources: null } }, { signal });
  await eventually(async () => expect(await message("repair")).toBe("ours"));
  expect((await read("repair")).status).toMatchObject({ failedResources: status?.failedResources });

  await objects().patch(
    { name: "repair", namespace },
    { metadata: { labels: { "plumbline.dev/test": null, theirs: "yes" }, ownerReferences: null } },
    { signal },
  );
  await eventually(async () =>
    expect((await read("repair")).metadata).toMatchObject({
      labels: { "plumbline.dev/test": "yes", theirs: "yes" },
      ownerReferences: [nodeOwner],
    }),
  );

  await objects().delete({ name: "repair", namespace }, { signal });
  await eventually(async () => expect(await message("repair")).toBe("ours"));
  const after = await reports.requests();
  await quiet();
  expect(await reports.requests()).toEqual(after);
});

test("a restarted process that sees the same state writes nothing and keeps the transition time", async () => {
  const first = reporter("before");
  first.set("restart", ready("True", "same"));
  await eventually(async () => expect(await message("restart")).toBe("same"));
  await first.end();
  const before = await read("restart");
  await sleep(1100);

  const second = reporter("after");
  second.set("restart", ready("True", "same"));
  await quiet();
  expect(await second.requests()).toEqual([]);
  second.set("restart", ready("True", "other words"));
  await eventually(async () => expect(await message("restart")).toBe("other words"));
  expect((await read("restart")).status?.conditions?.[0]?.lastTransitionTime).toBe(before.status?.conditions?.[0]?.lastTransitionTime);
  second.set("restart", ready("False", "other value"));
  await eventually(async () => expect(await message("restart")).toBe("other value"));
  expect((await read("restart")).status?.conditions?.[0]?.lastTransitionTime).not.toBe(before.status?.conditions?.[0]?.lastTransitionTime);
});

test("a thousand pictures cost a handful of writes, and the newest is the last", async () => {
  const reports = reporter("burst");
  for (let n = 0; n < 1000; n++) {
    reports.set("burst", ready("True", `picture ${n}`));
    if (n % 100 === 0) await sleep(5);
  }
  await eventually(async () => expect(await message("burst")).toBe("picture 999"));
  await quiet();
  const requests = await reports.requests();
  expect(requests.length).toBeLessThan(15);
  expect(requests.filter((request) => !/ 20[01]$/.test(request))).toEqual([]);
});

/** Changes the object without pause, its status now and then. */
async function storm(name: string, over: AbortSignal): Promise<void> {
  for (let n = 0; !over.aborted; n++) {
    await objects().patch({ name, namespace }, { metadata: { labels: { storm: String(n) } } }, { signal });
    if (n % 50 === 49) await objects().patchStatus({ name, namespace }, { status: { conditions: [] } }, { signal });
  }
}

test("every status is written while another writer keeps changing the object, and the last one remains", async () => {
  const reports = reporter("storm");
  reports.set("storm", ready("True", "calm"));
  await eventually(async () => expect(await message("storm")).toBe("calm"));
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const messages = new Set<string>();
  const cache = new Cache(client, RouterNodeConfigurationStatus, { namespace, fieldSelector: "metadata.name=storm" });
  cache.subscribe(({ object }) => messages.add(object.status?.conditions?.[0]?.message ?? ""));
  cache.start(over.signal);

  const foreign = storm("storm", over.signal);
  const gusts = Array.from({ length: 10 }, (_, n) => `gust ${n}`);
  for (const [n, gust] of gusts.entries()) {
    reports.set("storm", ready(n % 2 === 0 ? "False" : "True", gust));
    await vi.waitFor(() => expect([...messages]).toContain(gust), { timeout: 60_000 });
  }
  over.abort();
  await foreign;
  await eventually(async () => expect(await message("storm")).toBe("gust 9"));
  expect((await reports.requests()).filter((request) => request === "patch storm/status 409").length).toBeGreaterThan(0);
  const after = await reports.requests();
  await quiet();
  expect(await reports.requests()).toEqual(after);
});

const rejections = async () =>
  (await statusErrors.get()).values.find(({ labels }) => labels.kind === "RouterNodeConfigurationStatus" && labels.code === "Invalid")
    ?.value ?? 0;

test("a picture that the server finds invalid is refused once and counted; a better one is written", async () => {
  const before = await rejections();
  const reports = reporter("invalid");
  reports.set("invalid", ready("True", "x".repeat(40_000)));
  await eventually(async () => expect(await rejections()).toBe(before + 1));
  await sleep(2000);
  expect(await reports.requests()).toEqual(["create invalid 201", "patch invalid/status 422"]);
  reports.set("invalid", ready("True", "short"));
  await eventually(async () => expect(await message("invalid")).toBe("short"));
});

test("the final pictures are on the server when the writer has ended", async () => {
  const reports = reporter("flush");
  const names = Array.from({ length: 10 }, (_, index) => `flush-${index}`);
  for (const name of names) reports.set(name, ready("True", "first"));
  await eventually(async () => {
    for (const name of names) expect(await message(name)).toBe("first");
  });
  // More refreshes than the budget has for quiet times.
  for (let n = 0; n < 3; n++) {
    for (const name of names) reports.set(name, ready("True", `later ${n}`));
    await sleep(100);
  }
  for (const name of names) reports.set(name, ready("True", "final"));
  await reports.end();
  expect(await Promise.all(names.map(message))).toEqual(names.map(() => "final"));
});

test("an object of ours is deleted with preconditions, and one that changed hands is left alone", async () => {
  const reports = reporter("delete");
  for (const name of ["delete-ours", "delete-theirs"]) reports.set(name, ready("True", "ours"));
  await eventually(async () => {
    for (const name of ["delete-ours", "delete-theirs"]) expect(await message(name)).toBe("ours");
  });
  reports.writer.forget(`${namespace}/delete-theirs`);
  await objects().patch({ name: "delete-theirs", namespace }, { metadata: { labels: { "plumbline.dev/test": "theirs" } } }, { signal });
  for (const name of ["delete-ours", "delete-theirs"]) {
    reports.writer.delete(`${namespace}/${name}`, ({ metadata }) => metadata.labels?.["plumbline.dev/test"] === "yes");
  }
  await eventually(() => expect(read("delete-ours")).rejects.toSatisfy((error) => isKubeError(error, "NotFound")));
  await quiet();
  expect(await message("delete-theirs")).toBe("ours");
});

test("pictures that change while the server is killed and started again are there when it is back", async () => {
  const reports = reporter("outage");
  reports.set("outage", ready("True", "before"));
  await eventually(async () => expect(await message("outage")).toBe("before"));
  const restarted = api.server.restart();
  reports.set("outage", ready("False", "during"));
  reports.set("outage-new", ready("True", "new"));
  await restarted;
  await eventually(async () => {
    expect(await message("outage")).toBe("during");
    expect(await message("outage-new")).toBe("new");
  });
  // What it wrote while it could not watch it may read once more, but not write.
  const written = async () => (await reports.requests()).filter((request) => !request.startsWith("get "));
  const after = await written();
  await quiet();
  expect(await written()).toEqual(after);
});

import { expect, test } from "vitest";
import { fixedAccess } from "../../kube/testing/fixed-access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { answer, statusError, ScriptedServer, type ScriptedStep } from "../../kube/testing/scripted-server.ts";
import { readLive } from "./live-reader.ts";
import { watchedKindsOf } from "./watched-kinds.ts";
import { ServedKinds } from "./served-kinds.ts";
import type { Managed } from "../policy/managed.ts";

const { signal } = new AbortController();
const managed = (kind: Managed["kind"], name: string, namespace = "shop"): Managed => ({ kind, namespace, name, field: "" });
const list = (...names: string[]) =>
  answer(200, { metadata: { resourceVersion: "9" }, items: names.map((name) => ({ metadata: { name } })) });
const missing = (name: string) => answer(404, { kind: "Status", code: 404, reason: "NotFound", details: { name } });

/** Looks at a server that answers these paths, and others with nothing. */
async function readAll(resources: readonly Managed[], answers: Record<string, ScriptedStep>) {
  const serve: ScriptedStep = (response, received) => (answers[received.path] ?? list())(response, received);
  const server = await ScriptedServer.start([serve]);
  const client = new KubeClient(fixedAccess(server.url), { retries: 0 });
  const served = new ServedKinds(client);
  const reader = await readLive(client, served, watchedKindsOf(resources), signal);
  client.close();
  await server[Symbol.asyncDispose]();
  return { reader: reader, served, paths: server.received.map(({ path }) => path) };
}

const noPage: ScriptedStep = (response) => response.writeHead(404).end("404 page not found");
const VIRTUAL = "/apis/networking.istio.io/v1/namespaces/shop/virtualservices";
const ISTIO = {
  "/apis/networking.istio.io": answer(200, { versions: [{ version: "v1" }] }),
  "/apis/networking.istio.io/v1": answer(200, { resources: [{ name: "virtualservices" }] }),
};

test("one object is read by name, several with one list, and surrounding kinds with one list each", async () => {
  const cron = "/apis/batch/v1/namespaces/shop/cronjobs";
  const deployments = "/apis/apps/v1/namespaces/shop/deployments";
  const answers = {
    [`${cron}/report`]: answer(200, { metadata: { name: "report" } }),
    [deployments]: list("web", "api", "other"),
    "/apis/keda.sh": statusError(404, "NotFound"),
  };
  const { reader, paths } = await readAll(
    [managed("CronJob", "report"), managed("Deployment", "web"), managed("Deployment", "gone")],
    answers,
  );
  expect(new Set(paths)).toEqual(
    new Set([
      "/apis/keda.sh",
      `${cron}/report`,
      deployments,
      "/api/v1/namespaces/shop/pods",
      "/apis/batch/v1/namespaces/shop/jobs",
      "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers",
    ]),
  );
  expect(reader.object("CronJob", "shop", "report")).toEqual({ found: { metadata: { name: "report" } } });
  expect(reader.object("Deployment", "shop", "web")).toMatchObject({ found: { metadata: { name: "web" } } });
  expect(reader.object("Deployment", "shop", "gone")).toEqual({ absent: "object" });
  expect(reader.all("Pod", "shop")).toEqual({ found: [] });
  expect(reader.all("ScaledObject", "shop")).toEqual({ absent: "kind" });
});

test("a missing object is absent, and a forbidden one is not", async () => {
  const { reader } = await readAll([managed("VirtualService", "web")], { ...ISTIO, [`${VIRTUAL}/web`]: missing("web") });
  expect(reader.object("VirtualService", "shop", "web")).toEqual({ absent: "object" });
  const forbidden = await readAll([managed("VirtualService", "web")], {
    ...ISTIO,
    [`${VIRTUAL}/web`]: statusError(403, "Forbidden", "you may not"),
  });
  expect(forbidden.reader.object("VirtualService", "shop", "web")).toMatchObject({ code: "Forbidden" });
});

test("a failing server is an error, not an absent object", async () => {
  const { reader } = await readAll([managed("VirtualService", "web")], {
    ...ISTIO,
    [`${VIRTUAL}/web`]: statusError(500, "InternalError", "no"),
  });
  expect(reader.object("VirtualService", "shop", "web")).toMatchObject({ code: "Unreachable" });
});

test("a kind that the server no longer serves is absent, and is looked up again", async () => {
  const { reader, served } = await readAll([managed("VirtualService", "web")], { ...ISTIO, [`${VIRTUAL}/web`]: noPage });
  expect(reader.object("VirtualService", "shop", "web")).toEqual({ absent: "kind" });
  expect(served.knows("VirtualService")).toBe(false);
});

test.each(["/api/v1/namespaces/shop/pods", "/apis/batch/v1/namespaces/shop/jobs", "/apis/batch/v1/namespaces/shop/cronjobs/report"])(
  "%s exists on every API server: a 404 means another server and no absence",
  async (path) => {
    const { reader } = await readAll([managed("CronJob", "report")], { [path]: noPage });
    const reads = [reader.all("Pod", "shop"), reader.all("Job", "shop"), reader.object("CronJob", "shop", "report")];
    expect(reads.filter((one) => "error" in one)).toMatchObject([{ code: "Failed" }]);
  },
);

test("an object that was not requested is not absent", async () => {
  const { reader } = await readAll([managed("CronJob", "report")], {});
  expect(reader.all("VolumeAttachment", "")).toMatchObject({ code: "Failed" });
});

test("a volume group is read before its VolumeReplication, which proves nothing about a group that was read later", async () => {
  const group = "/apis/replication.storage.openshift.io/v1alpha1/namespaces/shop/volumegroupreplications/db";
  const replications = "/apis/replication.storage.openshift.io/v1alpha1/namespaces/shop/volumereplications";
  let isGroupRead = false;
  const readFirst: boolean[] = [];
  const { reader } = await readAll([managed("VolumeGroupReplication", "db")], {
    "/apis/storage.k8s.io": statusError(404, "NotFound"),
    "/apis/replication.storage.openshift.io": answer(200, { versions: [{ version: "v1alpha1" }] }),
    "/apis/replication.storage.openshift.io/v1alpha1": answer(200, {
      resources: ["volumegroupreplications", "volumereplications", "volumereplicationclasses"].map((name) => ({ name })),
    }),
    [group]: (response, received) => {
      setTimeout(() => {
        isGroupRead = true;
        void answer(200, { metadata: { name: "db" } })(response, received);
      }, 50);
    },
    [replications]: (response, received) => {
      readFirst.push(isGroupRead);
      return list("vr-1")(response, received);
    },
  });
  expect(reader.object("VolumeGroupReplication", "shop", "db")).toMatchObject({ found: { metadata: { name: "db" } } });
  expect(reader.all("VolumeReplication", "shop")).toMatchObject({ found: [{ metadata: { name: "vr-1" } }] });
  expect(readFirst).toEqual([true]);
});

test("policies of one pass share a list, and each reads its own objects", async () => {
  const server = await ScriptedServer.start([list("web", "api")]);
  const client = new KubeClient(fixedAccess(server.url), { retries: 0 });
  const served = new ServedKinds(client);
  const reads = new Map();
  await Promise.all(
    ["report", "cleanup"].map((name) => readLive(client, served, watchedKindsOf([managed("CronJob", name)]), signal, reads)),
  );
  client.close();
  await server[Symbol.asyncDispose]();
  expect(server.received.map(({ path }) => path).toSorted()).toEqual([
    "/api/v1/namespaces/shop/pods",
    "/apis/batch/v1/namespaces/shop/cronjobs/cleanup",
    "/apis/batch/v1/namespaces/shop/cronjobs/report",
    "/apis/batch/v1/namespaces/shop/jobs",
  ]);
});

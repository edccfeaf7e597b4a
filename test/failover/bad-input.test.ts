import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { allowPeerSecret, installIdentities } from "../../lab/kube/identities.ts";
import { applyCrds } from "../../lab/kube/install-crds.ts";
import { silent } from "../../lab/progress.ts";
import { argoCdCrds } from "../../lab/sites/argo-cd.ts";
import { externalCrds } from "../../lab/sites/external-crds.ts";
import { VolumeReplication } from "../../lab/sites/kinds.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { crdOf } from "../../src/api/crds/crd.ts";
import { FailoverPolicy, type FailoverStatus } from "../../src/api/failover/failover-policy.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { plumbline } from "../support/command-line.ts";
import { PolicyWatch, TestController, want } from "../support/failover-controller.ts";

const { signal } = new AbortController();
let suite: SuiteApiServer;
let client: KubeClient;
let policies: PolicyWatch;

type Spec = FailoverPolicy["spec"];

/** The definition without what it checks of these fields: policies from before a check may hold anything. */
function unchecked() {
  const crd = structuredClone(crdOf(FailoverPolicy)) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, object> } } } } }[] };
  };
  for (const { schema } of crd.spec.versions) {
    const { properties } = schema.openAPIV3Schema.properties.spec;
    properties["wave"] = { type: "integer" };
    properties["maxCopyAge"] = { type: "string" };
  }
  return crd as unknown as ReturnType<typeof crdOf>;
}

beforeAll(async () => {
  suite = await apiServer("failover-bad-input");
  client = new KubeClient(suite.access);
  await applyCrds(client, [crdOf(FailoverPolicy), ...(await externalCrds(silent)), ...argoCdCrds({ knowsEnabled: true })], signal);
  await installIdentities(client, signal);
  policies = new PolicyWatch(client);
});
afterAll(async () => {
  policies.stop();
  client.close();
  await suite.stop();
});

/** A namespace with a Deployment and a volume of a secondary, and a controller that looks after nothing else. */
async function namespaceOf({ onTestFinished }: Pick<TestContext, "onTestFinished">) {
  const namespace = `bad-${randomBytes(3).toString("hex")}`;
  await client.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
  await allowPeerSecret(client, namespace, signal);
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web" }] } };
  const deployment = { replicas: 0, selector: { matchLabels: labels }, template } as unknown as Deployment["spec"];
  await client.resource(Deployment).create({ metadata: { name: "web", namespace }, spec: deployment }, { signal });
  // There is no other sign that it has been reconciled.
  await client.resource(Deployment).patchStatus({ name: "web", namespace }, { status: { observedGeneration: 1 } }, { signal });
  const dataSource = { apiGroup: "", kind: "PersistentVolumeClaim", name: "data" };
  const volume = { volumeReplicationClass: "class", replicationState: "secondary", dataSource };
  await client.resource(VolumeReplication).create({ metadata: { name: "data", namespace }, spec: volume as never }, { signal });
  const controller = new TestController({ access: suite.access, namespace });
  onTestFinished(() => controller.stop());
  return { namespace, controller };
}

const MANAGED = [
  { kind: "VolumeReplication" as const, name: "data" },
  { kind: "Deployment" as const, name: "web" },
];

function create(namespace: string, spec: Partial<Spec>, name = "site"): Promise<FailoverPolicy> {
  const whole = { desiredState: "primary" as const, managedResources: MANAGED, ...spec };
  return client.resource(FailoverPolicy).create({ metadata: { name, namespace }, spec: whole }, { signal });
}

const condition = (status: FailoverStatus | undefined, type: string) => status?.conditions?.find((one) => one.type === type);

async function errorOf(namespace: string, reason: string, name = "site"): Promise<string> {
  const isThere = ({ metadata, status }: FailoverPolicy) =>
    status?.observedGeneration === metadata.generation && condition(status, "Error")?.reason === reason;
  const { status } = await policies.until(namespace, isThere, undefined, name);
  expect(condition(status, "Error")).toMatchObject({ status: "True" });
  expect([condition(status, "Complete")?.status, condition(status, "InProgress")?.status]).toEqual(["False", "False"]);
  return condition(status, "Error")?.message ?? "";
}

/** A kubeconfig of the same server under another of its names: a likely mistake when copying one. */
function kubeconfig(server: string, user: object): string {
  const cluster = {
    server,
    "tls-server-name": "kubernetes",
    "certificate-authority-data": Buffer.from(suite.server.caPem).toString("base64"),
  };
  return JSON.stringify({
    "current-context": "there",
    contexts: [{ name: "there", context: { cluster: "there", user: "reader" } }],
    clusters: [{ name: "there", cluster }],
    users: [{ name: "reader", user }],
  });
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const elsewhere = () => suite.server.url.replace("127.0.0.1", "localhost");
const expired = `e30.${Buffer.from(JSON.stringify({ exp: 1_769_904_000 })).toString("base64url")}.sig`;

const SECRET = "spec.peer.kubeconfigSecret";
const peer = { kubeconfigSecret: { name: "failover-other-site", key: "kubeconfig" } };
const paired = (namespace: string, data: Record<string, string>) =>
  client.resource(Secret).create({ metadata: { name: "failover-other-site", namespace }, stringData: data }, { signal });

test.concurrent.for<[what: string, data: () => Record<string, string> | undefined, message: RegExp]>([
  [
    "whose Secret does not exist",
    () => undefined,
    /^spec\.peer\.kubeconfigSecret\.name: Secret \S+ of spec\.peer does not exist; create it/,
  ],
  [
    "without the key",
    () => ({ config: "x" }),
    /^spec\.peer\.kubeconfigSecret\.key: Secret \S+ of spec\.peer has no key kubeconfig; its keys: config/,
  ],
  [
    "with an invalid kubeconfig",
    () => ({ kubeconfig: "][" }),
    /^spec\.peer\.kubeconfigSecret: Secret \S+ key kubeconfig line 1 is not YAML/,
  ],
  [
    "without https",
    () => ({ kubeconfig: kubeconfig("http://192.0.2.1", {}) }),
    /^spec\.peer\.kubeconfigSecret: .* only https:\/\/ is accepted/,
  ],
  [
    "with a link-local address",
    () => ({ kubeconfig: kubeconfig("https://169.254.169.254", {}) }),
    /^spec\.peer\.kubeconfigSecret: .* a link-local address; give the address of the other site's API server/,
  ],
  [
    "whose token has expired",
    () => ({ kubeconfig: kubeconfig(elsewhere(), { token: expired }) }),
    /^spec\.peer\.kubeconfigSecret: .* its token expired at 2026-02-01T00:00:00Z; put a new kubeconfig into the Secret/,
  ],
  [
    "with the address of this cluster",
    () => ({ kubeconfig: kubeconfig(suite.server.url, { token: expired }) }),
    /^spec\.peer\.kubeconfigSecret: .* which is this cluster; give a kubeconfig of the other site/,
  ],
])("a peer %s is an Error with field and fix, and nothing is written", async ([, data, message], context) => {
  const { namespace, controller } = await namespaceOf(context);
  const content = data();
  if (content) await paired(namespace, content);
  await create(namespace, { peer });
  expect(await errorOf(namespace, "PeerInvalid")).toMatch(message);
  const { status } = await client.resource(FailoverPolicy).get("site", { namespace, signal });
  expect(status?.token).toBeUndefined();
  expect(status?.transition).toBeUndefined();
  expect(controller.changes).toEqual([]);

  const admin = await suite.server.kubeconfig("admin");
  const rejected = await plumbline(["failover", "switch", "site", "-n", namespace, "--to", "secondary", "--kubeconfig", admin]);
  expect(rejected).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Rejected; nothing was changed:") });
  expect(rejected.stderr).toContain(`PeerInvalid: ${SECRET}`);
});

test.concurrent.for(["the policy itself", "another policy"])(
  "a peer that is %s by another name of this cluster is an Error",
  async (what, context) => {
    const { namespace, controller } = await namespaceOf(context);
    const { key, cert, token } = await suite.access.identity();
    const certificate =
      cert === undefined || key === undefined ? {} : { "client-certificate-data": base64(cert), "client-key-data": base64(key) };
    const user = token === undefined ? certificate : { token };
    await paired(namespace, { kubeconfig: kubeconfig(elsewhere(), user) });
    await create(namespace, { desiredState: "secondary", managedResources: [{ kind: "Deployment", name: "other" }], peer }, "other");
    await create(namespace, { peer: what === "another policy" ? { ...peer, name: "other" } : peer });
    const named = what === "another policy" ? "another policy of this cluster" : "this policy itself";
    expect(await errorOf(namespace, "PeerInvalid")).toBe(
      `${SECRET}: spec.peer points back to ${named}; give a kubeconfig of the other site`,
    );
    expect(controller.changes).toEqual([]);
  },
);

test.concurrent("a corrected Secret is used without a change of the policy, and force needs none", async (context) => {
  const { namespace, controller } = await namespaceOf(context);
  await paired(namespace, { config: "x" });
  const { metadata } = await create(namespace, { peer });
  await errorOf(namespace, "PeerInvalid");
  await client
    .resource(Secret)
    .patch({ name: "failover-other-site", namespace }, { stringData: { kubeconfig: kubeconfig("https://127.0.0.1:1", {}) } }, { signal });
  // A site that only does not answer is awaited.
  const waiting = await policies.until(namespace, ({ status }) => condition(status, "InProgress")?.reason === "TakeToken");
  expect(condition(waiting.status, "Error")).toMatchObject({ status: "False" });
  expect(condition(waiting.status, "Ready")).toMatchObject({ reason: "InProgress" });
  expect(controller.changes).toEqual([]);

  await client
    .resource(Secret)
    .patch({ name: "failover-other-site", namespace }, { data: { kubeconfig: null }, stringData: { config: "x" } }, { signal });
  await want(client, namespace, { force: { reason: "it is gone", epoch: 0, uid: metadata.uid ?? "" } });
  await policies.until(namespace, ({ status }) => status?.token?.state === "Held");
});

test("the server rejects a negative wave and an invalid maxCopyAge, and so does the controller if they are stored", async (context) => {
  const { namespace } = await namespaceOf(context);
  const wrong: [Partial<Spec>, string][] = [
    [{ wave: -1 }, "spec.wave: wave is -1; set an integer of 0 or more"],
    [{ maxCopyAge: "soon" }, 'spec.maxCopyAge: maxCopyAge is "soon"; use a duration such as 90s, 15m or 1h30m'],
  ];
  for (const [spec] of wrong) {
    await expect(create(namespace, spec)).rejects.toMatchObject({
      code: "Invalid",
      message: expect.stringContaining(`spec.${Object.keys(spec)[0]}`),
    });
  }
  await applyCrds(client, [unchecked()], signal);
  for (const [spec, message] of wrong) {
    const one = await namespaceOf(context);
    await stored(() => create(one.namespace, spec));
    expect(await errorOf(one.namespace, "Invalid")).toBe(message);
    expect(one.controller.changes).toEqual([]);
  }
});

/** The server takes a moment to forget what it checked before. */
async function stored(attempt: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!isKubeError(error, "Invalid")) throw error;
      await sleep(100);
    }
  }
  throw new Error("The server still checks what it was told not to check any more");
}

test.concurrent("of two policies with one volume the younger is rejected, with the field and both fixes", async (context) => {
  const { namespace, controller } = await namespaceOf(context);
  await create(namespace, { desiredState: "secondary", managedResources: MANAGED.slice(0, 1) }, "first");
  await policies.until(namespace, ({ status }) => (status?.claims ?? []).length > 0, undefined, "first");
  await create(namespace, {});
  expect(await errorOf(namespace, "Conflict")).toBe(
    `VolumeReplication ${namespace}/data: spec.managedResources[0]: VolumeReplication ${namespace}/data is switched by FailoverPolicy ${namespace}/first, which claimed it first; remove it from one of the two policies`,
  );
  expect(controller.changes.filter((change) => change !== "VolumeReplication data")).toEqual([]);
  const { spec } = await client.resource(VolumeReplication).get("data", { namespace, signal });
  expect(spec.replicationState).toBe("secondary");
});

test.concurrent("a missing Application is rejected with its field, and nothing is written", async (context) => {
  const { namespace, controller } = await namespaceOf(context);
  await create(namespace, { managedResources: [...MANAGED, { kind: "Application", name: "gone" }] });
  expect(await errorOf(namespace, "NotFound")).toBe(
    `Application ${namespace}/gone: spec.managedResources[2]: Application ${namespace}/gone does not exist; create it, correct its name or namespace, or remove it from the policy`,
  );
  expect(controller.changes).toEqual([]);
});

test.concurrent("a selector without matches is a command error that lists the existing labels, and changes nothing", async (context) => {
  const { namespace } = await namespaceOf(context);
  await create(namespace, { desiredState: "secondary" });
  const before = await client.resource(FailoverPolicy).get("site", { namespace, signal });
  const admin = await suite.server.kubeconfig("admin");
  const ended = await plumbline(["failover", "switch", "-l", "tier=none", "-n", namespace, "--to", "primary", "--kubeconfig", admin]);
  expect(ended).toEqual({
    code: 1,
    stdout: "",
    stderr: `plumbline: No FailoverPolicy in namespace ${namespace} has the labels tier=none; there are 1: ${namespace}/site\n`,
  });
  const after = await client.resource(FailoverPolicy).get("site", { namespace, signal });
  expect([after.spec, after.metadata.generation]).toEqual([before.spec, before.metadata.generation]);
});

test("a policy from before the consent rule keeps its state, and its next switch is rejected with the annotation to set", async (context) => {
  const { namespace: other, controller: bystander } = await namespaceOf(context);
  const namespace = `${other}-policies`;
  await client.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
  const managedResources = [{ kind: "Deployment" as const, name: "web", namespace: other }];
  await create(namespace, { desiredState: "secondary", managedResources });
  const time = "2026-01-01T00:00:00Z";
  const transition = { to: "secondary", mode: "safe", generation: 1, startTime: time, completionTime: time, steps: [] };
  await client.resource(FailoverPolicy).patchStatus({ name: "site", namespace }, { status: { transition } }, { signal });

  const controller = new TestController({ access: suite.access, namespace });
  context.onTestFinished(() => controller.stop());
  const kept = await policies.complete(namespace, 1);
  expect(condition(kept, "Error")).toMatchObject({ status: "False" });
  await want(client, namespace, { desiredState: "primary" });
  const annotation = `kubectl annotate --overwrite namespace ${other} 'plumbline.dev/failover-policies=${namespace}/site'`;
  expect(await errorOf(namespace, "NotPermitted")).toContain(`Deployment ${other}/web: spec.managedResources[0].namespace: `);
  const { status } = await client.resource(FailoverPolicy).get("site", { namespace, signal });
  expect(condition(status, "Error")?.message).toContain(`To allow it: ${annotation}`);
  expect([controller.changes, bystander.changes]).toEqual([[], []]);
});

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { accessAs, applyIdentities, installIdentities, tokenOf } from "../../lab/kube/identities.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { Event } from "../../src/api/core/event.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { CHECKS, ROUTER_HOST_DEFAULTS } from "../../src/cli/shared/agent-options.ts";
import { addAgentComponents } from "../../src/cli/shared/agent-components.ts";
import { parsePrefix } from "../../src/ip/prefix.ts";
import { fixedAccess } from "../../src/kube/testing/fixed-access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { createLog } from "../../src/kube/log.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { forbiddenRequests } from "../support/errors.ts";
import { Listener } from "./fixtures/listener.ts";
import { P2pncProcess } from "./fixtures/p2pnc-process.ts";
import { writeKubeconfig } from "./fixtures/kubeconfig.ts";

// The rights of the chart and deploy/p2pnc, and the admission policies that keep sources to their own checks.

const { signal } = new AbortController();
const own = "plumbline-system";
const DEPLOY = join(import.meta.dirname, "../../deploy/p2pnc");
const allowed = parsePrefix("127.0.0.0/8");
let api: SuiteApiServer;
let admin: KubeClient;
let directory: string;
let listener: Listener;

beforeAll(async () => {
  api = await apiServer("source-rbac");
  admin = new KubeClient(api.access);
  directory = await mkdtemp(join(tmpdir(), "plumbline-source-rbac-"));
  listener = await Listener.start();
  await installCrds(admin, CUSTOM_KINDS, signal);
  for (const name of ["shop", "elsewhere"]) await admin.resource(Namespace).create({ metadata: { name } }, { signal });
  for (const name of ["worker0", "worker1"]) await admin.resource(Node).create({ metadata: { name } }, { signal });
  await account("shop", "web");
  await account("shop", "operator");
  await account("kube-system", "default");
  await installIdentities(admin, signal);
  for (const name of ["role", "prune-role"]) await applyIdentities(admin, join(DEPLOY, `${name}.yaml`), signal);
  for (const name of ["web-1", "web-2"]) {
    const spec = { serviceAccountName: "web", nodeName: "worker0", containers: [{ name: "web", image: "example.com/web:1" }] };
    await admin.resource(Pod).create({ metadata: { name, namespace: "shop" }, spec }, { signal });
  }
});
afterAll(async () => {
  await listener.down();
  admin.close();
  await api.stop();
  await rm(directory, { recursive: true, force: true });
});

async function account(namespace: string, name: string): Promise<void> {
  const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
  await admin.request("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, { body, signal });
}

function clientWith(token: string): KubeClient {
  return new KubeClient(fixedAccess(api.server.url, { ca: api.server.caPem, token }));
}

async function check(name: string, namespace: string, source: string, { node }: { node?: string } = {}): Promise<void> {
  const marks = node === undefined ? {} : { labels: { "plumbline.dev/node": node }, annotations: { "plumbline.dev/node": node } };
  const spec = { sourcePod: source, targetEndpoint: listener.target };
  await admin.resource(PodNetworkConnectivityCheck).create({ metadata: { name, namespace, ...marks }, spec }, { signal });
}

const eventually = (expectation: () => Promise<void> | void) => vi.waitFor(expectation, { timeout: 60_000, interval: 100 });
type Try = readonly [what: string, attempt: () => Promise<unknown>, failure: string];
const forbidden = "Forbidden";
const denied = (why: string) => expect.stringMatching(`^Invalid .*${why}`) as string;
/** Two policies reject a Lease of another pod; the API server names one of them. */
const NOT_ITS_OWN = "only (Lease check-<pod>|the Lease whose annotation)";

/** What came of each of them. */
async function outcomes(tries: readonly Try[]): Promise<string[][]> {
  const came: string[][] = [];
  for (const [what, attempt] of tries) came.push([what, await failureOf(attempt())]);
  return came;
}

async function failureOf(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!isKubeError(error)) return "nothing refused it";
  return error.code === "Forbidden" ? error.code : `${error.code} ${error.message}`;
}
const empty = { status: { successes: [] } };

async function reachable(name: string, namespace: string): Promise<string | undefined> {
  const { status } = await admin.resource(PodNetworkConnectivityCheck).get(name, { namespace, signal });
  return status?.conditions?.[0]?.status;
}

/** Speaks as the agent of this node, or as one whose token says nothing of a node. */
function agentOf(node?: string): KubeClient {
  return new KubeClient(accessAs(node === undefined ? "agent of no node" : { agentOf: node }, api.access));
}

function inPod(pod: string): Promise<string> {
  return tokenOf(admin, ["shop", "web"], [Pod, pod], signal);
}

function leaseOf(pod: string) {
  const [labels, annotations] = [{ "plumbline.dev/component": "check-source" }, { "plumbline.dev/pod": pod }];
  return { metadata: { name: `check-${pod}`, namespace: "shop", labels, annotations }, spec: { holderIdentity: pod } };
}

describe("an agent", () => {
  test("with the permissions of the chart runs the checks of its node without a Forbidden", async () => {
    await check("mine", own, "worker0", { node: "worker0" });
    await check("theirs", own, "worker1", { node: "worker1" });
    const before = await forbiddenRequests();
    const client = agentOf("worker0");
    const log = createLog({ level: "silent" });
    const manager = new Manager({ client, log });
    const agent = addAgentComponents({
      manager,
      client,
      log,
      node: "worker0",
      namespace: own,
      hostOptions: { ...ROUTER_HOST_DEFAULTS, stateDirectory: directory },
      startFrr: false,
      checks: { ...CHECKS, allowTarget: [allowed], checkInterval: 300 },
    });
    const stop = new AbortController();
    const ended = agent.run(stop.signal);
    await eventually(async () => expect(await reachable("mine", own)).toBe("True"));
    await listener.down();
    await eventually(async () => expect(await reachable("mine", own)).toBe("False"));
    await listener.up();
    await eventually(async () => {
      const { annotations } = (await admin.resource(Lease).get("agent-worker0", { namespace: own, signal })).metadata;
      expect(annotations?.["plumbline.dev/parts"]).toBe("connectivity");
      const { items } = await admin.resource(Event).list({ namespace: own, signal });
      expect(items.map(({ reason }) => reason)).toEqual(expect.arrayContaining(["ConnectivityOutageDetected", "ConnectivityRestored"]));
    });
    stop.abort();
    await ended;
    expect(await reachable("theirs", own)).toBeUndefined();
    expect(await forbiddenRequests()).toBe(before);
  });

  test("may not create, change or delete checks, nor write those of another node", async () => {
    const client = agentOf("worker0");
    const checks = client.resource(PodNetworkConnectivityCheck);
    const mine = { name: "mine", namespace: own };
    const theirs = { name: "theirs", namespace: own };
    await check("shops", "shop", "worker0", { node: "worker0" });
    const spec = { sourcePod: "worker0", targetEndpoint: listener.target };
    const tries: Try[] = [
      ["create a check", () => checks.create({ metadata: { name: "new", namespace: own }, spec }, { signal }), forbidden],
      ["change the target of its own check", () => checks.patch(mine, { spec: { targetEndpoint: "10.0.0.1:22" } }, { signal }), forbidden],
      [
        "take over a check",
        () => checks.patch(theirs, { metadata: { annotations: { "plumbline.dev/node": "worker0" } } }, { signal }),
        forbidden,
      ],
      ["delete a check", () => checks.delete(mine, { signal }), forbidden],
      [
        "write the status of another node's",
        () => checks.patchStatus(theirs, empty, { signal }),
        denied("whose annotation plumbline.dev/node is its own node"),
      ],
      [
        "claim it while writing",
        () => checks.patchStatus(theirs, { ...empty, metadata: { annotations: { "plumbline.dev/node": "worker0" } } }, { signal }),
        denied("whose annotation plumbline.dev/node is its own node"),
      ],
      ["write a status elsewhere", () => checks.patchStatus({ name: "shops", namespace: "shop" }, empty, { signal }), forbidden],
      ["read checks elsewhere", () => checks.list({ namespace: "shop", signal }), forbidden],
      ["read secrets", () => client.resource(Secret).list({ namespace: own, signal }), forbidden],
      ["read pods", () => client.resource(Pod).list({ namespace: "shop", signal }), forbidden],
    ];
    expect(await outcomes(tries)).toEqual(tries.map(([what, , failure]) => [what, failure]));
    await checks.patchStatus(mine, empty, { signal });
    client.close();
  });

  test("with a token that is not bound to a node may not write", async () => {
    const client = agentOf();
    const attempt = client.resource(PodNetworkConnectivityCheck).patchStatus({ name: "mine", namespace: own }, empty, { signal });
    await expect(attempt).rejects.toThrow(/the token of an agent must be bound to its Pod or Node/);
    client.close();
  });
});

describe("a sidecar", () => {
  test("with the permissions of deploy/p2pnc runs the checks of its pod without a Forbidden", async () => {
    await check("ours", "shop", "web-1");
    const kubeconfig = await writeKubeconfig(api, await inPod("web-1"), join(directory, "kubeconfig"));
    const { uid = "" } = (await admin.resource(Pod).get("web-1", { namespace: "shop", signal })).metadata;
    const options = ["--kubeconfig", kubeconfig, "--state-dir", directory, "--interval", "300ms", "--allow-target", "127.0.0.0/8"];
    const child = new P2pncProcess(["check", "tcp-endpoint", ...options], { POD_NAME: "web-1", POD_NAMESPACE: "shop", POD_UID: uid });
    await eventually(async () => expect(await reachable("ours", "shop")).toBe("True"));
    await listener.down();
    await eventually(async () => expect(await reachable("ours", "shop")).toBe("False"));
    await listener.up();
    await eventually(async () => {
      const lease = await admin.resource(Lease).get("check-web-1", { namespace: "shop", signal });
      expect(lease.metadata.ownerReferences).toMatchObject([{ kind: "Pod", name: "web-1", uid }]);
      const { items } = await admin.resource(Event).list({ namespace: "shop", signal });
      expect(items.map(({ reason }) => reason)).toEqual(expect.arrayContaining(["ConnectivityOutageDetected", "ConnectivityRestored"]));
    });
    expect(await child.stop()).toBe(0);
    expect(child.logged.filter(({ level }) => level !== "info")).toEqual([]);
  });

  test("may write only the status and the Lease of its own pod", async () => {
    await check("others", "shop", "web-2");
    await check("elsewhere", "elsewhere", "web-1");
    const other = clientWith(await inPod("web-2"));
    await other.resource(Lease).create(leaseOf("web-2"), { signal });
    const client = clientWith(await inPod("web-1"));
    const checks = client.resource(PodNetworkConnectivityCheck);
    const ours = { name: "ours", namespace: "shop" };
    const spec = { sourcePod: "web-1", targetEndpoint: listener.target };
    const leases = client.resource(Lease);
    const election = await admin.resource(Lease).create({ metadata: { name: "election", namespace: "shop" }, spec: {} }, { signal });
    const stolen = { ...(await admin.resource(Lease).get("check-web-2", { namespace: "shop", signal })) };
    const tries: Try[] = [
      ["create a check", () => checks.create({ metadata: { name: "new", namespace: "shop" }, spec }, { signal }), forbidden],
      ["change the target of its own check", () => checks.patch(ours, { spec: { targetEndpoint: "10.0.0.1:22" } }, { signal }), forbidden],
      ["delete a check", () => checks.delete(ours, { signal }), forbidden],
      [
        "write the status of another pod's",
        () => checks.patchStatus({ name: "others", namespace: "shop" }, empty, { signal }),
        denied("is the pod itself"),
      ],
      ["write a status elsewhere", () => checks.patchStatus({ name: "elsewhere", namespace: "elsewhere" }, empty, { signal }), forbidden],
      ["read checks elsewhere", () => checks.list({ namespace: "elsewhere", signal }), forbidden],
      [
        "update a foreign Lease",
        () => leases.replace({ ...election, spec: { holderIdentity: "web-1" } }, { signal }),
        denied("only Lease check-<pod>"),
      ],
      [
        "create a foreign Lease",
        () => leases.create({ metadata: { name: "new-election", namespace: "shop" }, spec: {} }, { signal }),
        denied("only Lease check-<pod>"),
      ],
      ["create a Lease for another pod", () => leases.create(leaseOf("web-3"), { signal }), denied(NOT_ITS_OWN)],
      ["renew another's Lease", () => leases.replace({ ...stolen, spec: { holderIdentity: "web-1" } }, { signal }), denied(NOT_ITS_OWN)],
      [
        "take another's Lease over",
        () => leases.replace({ ...stolen, metadata: { ...stolen.metadata, annotations: { "plumbline.dev/pod": "web-1" } } }, { signal }),
        denied("(take over|only Lease check-<pod>)"),
      ],
      [
        "take it over without its label",
        () => leases.replace({ ...stolen, metadata: { ...stolen.metadata, labels: {} } }, { signal }),
        denied(NOT_ITS_OWN),
      ],
      ["read secrets", () => client.resource(Secret).list({ namespace: "shop", signal }), forbidden],
    ];
    expect(await outcomes(tries)).toEqual(tries.map(([what, , failure]) => [what, failure]));
    await checks.patchStatus(ours, empty, { signal });
    for (const one of [client, other]) one.close();
  });

  test("keeps its own permission on a Lease, as for a leader election", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop";
    const rules = [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames: ["election"], verbs: ["patch"] }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "election" };
    const subjects = [{ kind: "ServiceAccount", name: "web", namespace: "shop" }];
    await admin.request("POST", `${rbac}/roles`, { body: { metadata: { name: "election" }, rules }, signal });
    await admin.request("POST", `${rbac}/rolebindings`, { body: { metadata: { name: "election" }, roleRef, subjects }, signal });
    const client = clientWith(await inPod("web-1"));
    const election = await admin.resource(Lease).get("election", { namespace: "shop", signal });
    const take = () => client.resource(Lease).replace({ ...election, spec: { holderIdentity: "web-1" } }, { signal });
    await eventually(async () => expect(await failureOf(take())).toBe("nothing refused it"));
    client.close();
  });

  test("with a kubeconfig of the host, as in a static pod, may write only Leases of checks besides its Role", async () => {
    const client = clientWith(await tokenOf(admin, ["shop", "web"], undefined, signal));
    const checks = client.resource(PodNetworkConnectivityCheck);
    await checks.patchStatus({ name: "others", namespace: "shop" }, empty, { signal });
    const lease = (name: string) => client.resource(Lease).create({ metadata: { name, namespace: "shop" }, spec: {} }, { signal });
    expect(await failureOf(lease("kube-scheduler"))).toMatch(/only Lease check-<pod>/);
    await lease("check-web-node1");
    expect(await failureOf(checks.patchStatus({ name: "elsewhere", namespace: "elsewhere" }, empty, { signal }))).toBe(forbidden);
    client.close();
  });

  test("as pruner may only read checks and pods of its namespace and delete checks", async () => {
    const client = clientWith(await tokenOf(admin, ["shop", "operator"], undefined, signal));
    const checks = client.resource(PodNetworkConnectivityCheck);
    expect(await failureOf(checks.patchStatus({ name: "others", namespace: "shop" }, empty, { signal }))).toBe(forbidden);
    expect(await failureOf(checks.list({ namespace: "elsewhere", signal }))).toBe(forbidden);
    await client.resource(Pod).get("web-2", { namespace: "shop", signal });
    await checks.delete({ name: "others", namespace: "shop" }, { signal });
    client.close();
  });
});

test.each([
  ["deployment", "/apis/apps/v1/namespaces/shop/deployments"],
  ["static-pod", "/api/v1/namespaces/kube-system/pods"],
])("the API server accepts deploy/p2pnc/%s.yaml in strict mode", async (name, path) => {
  const body = parse(await readFile(join(DEPLOY, `${name}.yaml`), "utf8")) as object;
  const { kind } = await admin.request<{ kind: string }>("POST", `${path}?dryRun=All&fieldValidation=Strict`, { body, signal });
  expect(kind).toBe(name === "deployment" ? "Deployment" : "Pod");
});

test("the sidecar manifests set everything that the program requires", async () => {
  for (const name of ["deployment", "static-pod"]) {
    const text = await readFile(join(DEPLOY, `${name}.yaml`), "utf8");
    const [document] = parseAllDocuments(text);
    const names = [...JSON.stringify(document?.toJS()).matchAll(/"name":"(POD_[A-Z]+)"/g)].map(([, variable]) => variable);
    expect(names).toEqual(name === "deployment" ? ["POD_NAME", "POD_NAMESPACE", "POD_UID"] : ["POD_NAME", "POD_NAMESPACE"]);
  }
});

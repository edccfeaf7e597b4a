import type { IncomingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { accessAs, installIdentities, tokenOf } from "../../lab/kube/identities.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { Service } from "../../src/api/core/service.ts";
import { builtinKind, type KubeObject } from "../../src/api/kind.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { addClusterPage } from "../../src/cli/dashboard/cluster-page.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { LeaderElector } from "../../src/kube/leader/leader.ts";
import { createLog } from "../../src/kube/log.ts";
import { realServer } from "../support/servers.ts";
import { SlowReviews } from "./fixtures/slow-reviews.ts";

const RBAC = { group: "rbac.authorization.k8s.io", version: "v1" };
const ServiceAccount = builtinKind({ group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", scope: "Namespaced" });
const Role = builtinKind<KubeObject & { rules: object[] }>({ ...RBAC, kind: "Role", plural: "roles", scope: "Namespaced" });
const RoleBinding = builtinKind<KubeObject & { roleRef: object; subjects: object[] }>({
  ...RBAC,
  kind: "RoleBinding",
  plural: "rolebindings",
  scope: "Namespaced",
});

const { signal } = new AbortController();
const OWN = "plumbline-system";
const stopping = new AsyncDisposableStack();
let port = 0;
let ca = "";
let shopkeeper = "";
let stranger = "";
const crowd: string[] = [];
let reviews: SlowReviews;
let leader: LeaderElector;

beforeAll(async () => {
  const server = await realServer("page");
  stopping.defer(() => server.stop());
  const admin = server.client;
  await installIdentities(admin, signal);
  await admin.resource(Node).create({ metadata: { name: "n1" }, spec: {} }, { signal });
  for (const namespace of ["shop", "vault"]) {
    await admin.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
    const spec: Service["spec"] = { type: "LoadBalancer", ports: [{ port: 80, protocol: "TCP" }] };
    await admin.resource(Service).create({ metadata: { name: `web-of-${namespace}`, namespace }, spec }, { signal });
    await admin.resource(ServiceBGPStatus).create({ metadata: { name: `web-of-${namespace}-n1`, namespace } }, { signal });
  }
  const inShop = { namespace: "shop" };
  for (const name of ["shopkeeper", "stranger", "crowd"])
    await admin.resource(ServiceAccount).create({ metadata: { name, ...inShop } }, { signal });
  const rules = [
    { apiGroups: [""], resources: ["services"], verbs: ["list"] },
    { apiGroups: ["metallb.io"], resources: ["servicebgpstatuses", "servicel2statuses"], verbs: ["list"] },
  ];
  await admin.resource(Role).create({ metadata: { name: "shopkeeper", ...inShop }, rules }, { signal });
  const roleRef = { apiGroup: RBAC.group, kind: "Role", name: "shopkeeper" };
  const subjects = [{ kind: "ServiceAccount", name: "shopkeeper", ...inShop }];
  await admin.resource(RoleBinding).create({ metadata: { name: "shopkeeper", ...inShop }, roleRef, subjects }, { signal });
  shopkeeper = await tokenOf(admin, ["shop", "shopkeeper"], undefined, signal);
  stranger = await tokenOf(admin, ["shop", "stranger"], undefined, signal);
  for (let number = 0; number < 3; number += 1) crowd.push(await tokenOf(admin, ["shop", "crowd"], undefined, signal));

  reviews = await SlowReviews.before(server.api.access);
  stopping.defer(() => reviews.close());
  const client = new KubeClient({ ...accessAs("controller", server.api.access), server: reviews.url });
  const log = createLog({ level: "silent" });
  leader = new LeaderElector({ client, namespace: OWN, name: "plumbline-controller", identity: "page", log, retryMs: 300 });
  const manager = new Manager({ client, log, leader });
  const namespaces = { routerNamespace: "openperouter-system", metallbNamespace: "metallb-system" };
  const listening = addClusterPage({
    manager,
    client,
    log,
    namespace: OWN,
    namespaces,
    address: { host: "127.0.0.1", port: 0, chosen: true },
  });
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  stopping.defer(async () => {
    stop.abort();
    await running;
  });
  ({ port } = await listening);
  const { data = {} } = await admin.resource(Secret).get("plumbline-page-cert", { namespace: OWN, signal });
  ca = Buffer.from(data["ca.crt"] ?? "", "base64").toString();
});
afterAll(() => stopping.disposeAsync());

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  text: string;
}

interface Asking {
  method: string;
  headers: Record<string, string>;
  body: string;
  until: RegExp;
  agent: Agent;
}

/** Over TLS that is checked against what the page keeps in its Secret. */
function ask(path: string, { method = "GET", headers = {}, body = "", until = /$/, agent }: Partial<Asking> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request({ host: "127.0.0.1", port, path, method, headers, ca, agent }, (response) => {
      let text = "";
      const answer = () => resolve({ status: response.statusCode, headers: response.headers, text });
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        if (until.source === "$" || !until.test(text)) return;
        answer();
        response.destroy();
      });
      response.on("end", answer);
    });
    asking.on("error", reject).end(body);
  });
}

const as = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
const keysOf = ({ text }: Answer) => (JSON.parse(text) as { rows: { key: string }[] }).rows.map(({ key }) => key);

test("with the rights of the chart the page reads all that it shows, and each viewer is told what he may not list", async () => {
  await vi.waitFor(async () => {
    const { text } = await ask("/api/views/sync", as(shopkeeper));
    expect(JSON.parse(text)).toMatchObject({
      rows: [{ complete: true, lost: [], hidden: expect.arrayContaining(["Node", "Service"]) as string[] }],
    });
  }, 300_000);
});

test("who may list the Services of one namespace sees these, and not a word of another's", async () => {
  await vi.waitFor(
    async () => expect(keysOf(await ask("/api/views/loadbalancer", as(shopkeeper)))).toEqual(["service/shop/web-of-shop"]),
    30_000,
  );
  for (const view of ["overview", "router", "loadbalancer", "failover", "connectivity"]) {
    expect((await ask(`/api/views/${view}`, as(shopkeeper))).text).not.toMatch(/vault|n1/);
  }
  expect((await ask("/api/components/Service/shop/web-of-shop", as(shopkeeper))).status).toBe(200);
  const hidden = await ask("/api/components/Service/vault/web-of-vault", as(shopkeeper));
  const nothing = await ask("/api/components/Service/vault/web-of-none", as(shopkeeper));
  expect([hidden.status, nothing.status]).toEqual([404, 404]);
  expect(hidden.text.replaceAll("web-of-vault", "")).toBe(nothing.text.replaceAll("web-of-none", ""));
  expect((await ask("/api/why?component=Service/vault/web-of-vault", as(shopkeeper))).status).toBe(404);
});

test("a stream shows no more, and who may list nothing sees nothing", async () => {
  const stream = await ask("/api/stream?views=overview,loadbalancer", { ...as(shopkeeper), until: /event: snapshot[^]*\n\n/ });
  expect(stream.text).toContain("web-of-shop");
  expect(stream.text).not.toContain("vault");
  expect(keysOf(await ask("/api/views/loadbalancer", as(stranger)))).toEqual([]);
  expect(keysOf(await ask("/api/views/overview", as(stranger)))).toEqual([]);
});

test("the page itself is there for everybody, and a browser keeps the token where no script and no other site has it", async () => {
  expect((await ask("/")).status).toBe(200);
  const body = JSON.stringify({ token: shopkeeper });
  const headers = { "Content-Type": "application/json" };
  const login = await ask("/api/login", { method: "POST", body, headers });
  const cookie = login.headers["set-cookie"]?.[0] ?? "";
  expect(login.status).toBe(200);
  expect(cookie).toMatch(/^__Host-plumbline=[^;]+; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  const me = await ask("/api/whoami", { headers: { Cookie: cookie.split(";")[0] ?? "" } });
  expect(JSON.parse(me.text)).toMatchObject({ user: "system:serviceaccount:shop:shopkeeper", login: true });
  expect((await ask("/api/logout", { method: "POST", headers })).headers["set-cookie"]?.[0]).toMatch(/^__Host-plumbline=; Max-Age=0; /);
});

test("the leader renews its Lease while a thousand requests wait for slow reviews", async () => {
  await vi.waitFor(() => expect(leader.isLeader).toBe(true), 60_000);
  const [first = "", second = "", third = ""] = crowd;
  // From an address of their own: what is wrong here is counted there.
  const agent = new Agent({ maxSockets: 200, keepAlive: true, localAddress: "127.0.0.2" });
  onTestFinished(() => agent.destroy());
  for (const token of [first, second]) expect((await ask("/api/whoami", { ...as(token), agent })).status).toBe(200);

  reviews.holds = /reviews$/;
  const tokens = [first, second, third];
  const asking = Array.from({ length: 1_000 }, (_, number) => {
    const token = number % 2 === 0 ? `made-up-${number}` : (tokens[number % 3] ?? "");
    return ask("/api/views/loadbalancer", { ...as(token), agent }).then(
      ({ status }) => status,
      () => 0,
    );
  });
  await vi.waitFor(() => expect(reviews.pending.length).toBeGreaterThan(3), 60_000);
  const before = reviews.renewals;
  await vi.waitFor(() => expect(reviews.renewals).toBeGreaterThan(before + 5), 60_000);
  expect(leader.isLeader).toBe(true);
  expect(reviews.pending.length).toBeLessThanOrEqual(8);

  reviews.release();
  const statuses = await Promise.all(asking);
  expect(new Set(statuses).difference(new Set([0, 200, 401, 429, 503]))).toEqual(new Set());
  await vi.waitFor(async () => expect((await ask("/api/views/loadbalancer", as(shopkeeper))).status).toBe(200), 60_000);
});

test("who shows no token or a wrong one is told so, and who tries many has to wait, while others go on", async () => {
  const without = await ask("/api/views/overview");
  expect([without.status, without.headers["www-authenticate"]]).toEqual([401, 'Bearer realm="plumbline"']);
  expect(JSON.parse(without.text)).toEqual({ error: "Log in with a cluster token: kubectl create token NAME -n NAMESPACE" });
  for (let number = 0; number < 10; number += 1) {
    const wrong = await ask("/api/whoami", as(`wrong-${number}`));
    expect([wrong.status, wrong.text]).toEqual([401, '{"error":"Invalid or expired token"}']);
  }
  expect((await ask("/api/whoami", as("wrong-again"))).status).toBe(429);
  expect((await ask("/api/whoami", as(shopkeeper))).status).toBe(200);
});

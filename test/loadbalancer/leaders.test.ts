import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, inject, test } from "vitest";
import { Child } from "../../lab/child.ts";
import { accessAs, kubeconfigOf } from "../../lab/kube/identities.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Service } from "../../src/api/core/service.ts";
import { keyOf } from "../../src/api/kind.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { BalancedCluster, eventually } from "./fixtures/balanced-cluster.ts";

const script = join(import.meta.dirname, "fixtures", "controller-process.ts");
const watching = new AbortController();
const { signal } = new AbortController();
const running = new Map<string, Child>();
const doubles: string[] = [];
let cluster: BalancedCluster;
let services: Cache<Service>;
let kubeconfig: string;

beforeAll(async () => {
  cluster = await BalancedCluster.start("lb-leaders");
  kubeconfig = join(inject("lab").directory, "leaders.kubeconfig");
  await writeFile(kubeconfig, await kubeconfigOf(accessAs("controller", cluster.api.access)), { mode: 0o600 });
  services = new Cache(cluster.client, Service);
  services.subscribe(judge);
  services.start(watching.signal);
});
afterEach(async () => {
  for (const child of running.values()) await child.kill();
  running.clear();
});
afterAll(async () => {
  watching.abort();
  await cluster.stop();
});

/** Looks at every moment, as the server tells it, whether two Services have one address. */
function judge(): void {
  const owners = new Map<string, string>();
  for (const service of services.list()) {
    for (const { ip = "" } of service.status?.loadBalancer?.ingress ?? []) {
      const other = owners.get(ip);
      if (other !== undefined) doubles.push(`${ip}: ${other} and ${keyOf(service)}`);
      owners.set(ip, keyOf(service));
    }
  }
}

function start(identity: string): Child {
  const child = new Child(identity, process.execPath, [script, kubeconfig, identity], {
    logFile: join(inject("lab").directory, `${identity}.log`),
  });
  running.set(identity, child);
  return child;
}

async function leads(): Promise<string> {
  const lease = await cluster.client.resource(Lease).get("plumbline-controller", { namespace: "plumbline-system", signal });
  return (lease.spec.holderIdentity ?? "").replace(/_.*$/, "");
}

const leaderIs = (expected: (identity: string) => boolean) => eventually(async () => expect(expected(await leads())).toBe(true));
const addressed = (names: readonly string[]) =>
  eventually(async () => {
    for (const name of names) expect(await cluster.addresses(name)).toHaveLength(1);
  });

test("leaders that are suspended, resumed and killed never assign one address twice, and no Service loses its own", async () => {
  await cluster.pool("contested", ["192.0.2.0-192.0.2.19"]);
  start("first");
  await leaderIs((identity) => identity === "first");
  start("second");
  const names = Array.from({ length: 12 }, (_, nth) => `web-${nth}`);
  for (const name of names.slice(0, 4)) await cluster.service(name);
  await addressed(names.slice(0, 4));
  const kept = await Promise.all(names.slice(0, 4).map((name) => cluster.addresses(name)));

  // In the middle of its work.
  for (const name of names.slice(4, 8)) await cluster.service(name);
  running.get("first")?.signal("SIGSTOP");
  await leaderIs((identity) => identity === "second");
  for (const name of names.slice(8)) await cluster.service(name);
  await addressed(names);

  // It wakes with what it knew, and everything it knew is old.
  await cluster.removeService("web-9");
  running.get("first")?.signal("SIGCONT");
  await cluster.service("late");
  await addressed(["late"]);
  await running.get("second")?.kill();
  await leaderIs((identity) => identity === "first");
  await cluster.service("later");
  await addressed(["late", "later", ...names.filter((name) => name !== "web-9")]);

  // There is no leader for a while.
  await running.get("first")?.kill();
  await cluster.service("waiting");
  await cluster.removeService("web-10");
  await sleep(500);
  start("third");
  await addressed(["waiting"]);
  expect(await Promise.all(names.slice(0, 4).map((name) => cluster.addresses(name)))).toEqual(kept);
  expect(doubles).toEqual([]);
});

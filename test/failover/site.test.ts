import { afterAll, beforeAll, expect, test } from "vitest";
import { claimSpec, persistentVolume, statefulSet, volumeReplication } from "../../lab/sites/application.ts";
import { PersistentVolume, VolumeReplication } from "../../lab/sites/kinds.ts";
import { createNamespace, until } from "../../lab/sites/site.ts";
import { PersistentVolumeClaim } from "../../src/api/core/persistent-volume-claim.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import type { Kind } from "../../src/api/kind.ts";
import { plumbline } from "../support/command-line.ts";
import { TestController } from "../support/failover-controller.ts";
import { type FailoverSite, failoverSites } from "../support/failover-site.ts";

const { signal } = new AbortController();
const POLICIES = 50;
const WAVES = 3;
/** Its volume does not let itself be demoted. It is in wave 2, the first one to be stopped. */
const FAILING = 5;
const all = Array.from({ length: POLICIES }, (_, n) => n);
const nameOf = (n: number) => `app-${String(n).padStart(2, "0")}`;
const namespaceOf = (n: number) => `group-${n % 5}`;
const keyOf = (n: number) => `${namespaceOf(n)}/${nameOf(n)}`;

let sites: [FailoverSite, FailoverSite];
let controller: TestController;
let kubeconfig: string;

beforeAll(async () => {
  sites = await failoverSites("whole-site");
  const [east] = sites;
  kubeconfig = await east.site.server.kubeconfig("admin");
  await Promise.all(all.slice(0, 5).map((n) => createNamespace(east.client, namespaceOf(n), signal)));
  await Promise.all(all.map((n) => createApplication(east, n)));
  controller = new TestController({ access: east.access });
  await until("every policy is primary", async () => (await countAt("primary")) === POLICIES, signal);
});
afterAll(async () => {
  await controller.stop();
  await Promise.all(sites.map((site) => site.stop()));
});

async function createApplication({ client }: FailoverSite, n: number): Promise<void> {
  const [name, namespace] = [nameOf(n), namespaceOf(n)];
  const create = (kind: Kind, object: { metadata: { name: string }; spec: object }) =>
    client.resource(kind).create({ ...object, metadata: { namespace, ...object.metadata } }, { signal });
  await create(PersistentVolume, persistentVolume(namespace, name));
  await create(PersistentVolumeClaim, { metadata: { name }, spec: claimSpec() });
  await create(VolumeReplication, volumeReplication(name, "primary"));
  await create(StatefulSet, statefulSet(name, { replicas: 1, graceSeconds: 1, claim: name }));
  const managedResources = [
    { kind: "VolumeReplication", name },
    { kind: "StatefulSet", name },
  ];
  await create(FailoverPolicy, { metadata: { name }, spec: { desiredState: "primary", wave: n % WAVES, managedResources } });
}

async function countAt(role: string): Promise<number> {
  const { items } = await sites[0].client.resource(FailoverPolicy).list({ signal });
  return items.filter((policy) => isAt(policy, role)).length;
}

function isAt({ status }: FailoverPolicy, role: string): boolean {
  return status?.currentState === role && status.conditions?.some(({ type, status: is }) => type === "Complete" && is === "True") === true;
}

const failover = (...args: string[]) => plumbline(["failover", ...args, "--kubeconfig", kubeconfig]);
const switched = (...args: string[]) => failover("switch", "--all", "--to", "secondary", "--wait", ...args);

test(`${POLICIES} policies are stopped wave by wave, and a failing one does not block the others`, async () => {
  const failing = keyOf(FAILING);
  const { csiAddons, storage } = sites[0].site;
  await csiAddons.break(failing, "FailedToDemote");
  const running = switched("--wave-timeout", "5s", "--timeout", "10m");
  await until("all others are secondary", async () => (await countAt("secondary")) === POLICIES - 1, signal);

  const status = await failover("status", "--all");
  const rows = status.stdout.trimEnd().split("\n").slice(1);
  expect([status.code, rows.length]).toEqual([1, POLICIES]);
  const open = rows.filter((row) => !/ secondary +secondary +True /.test(row));
  expect(open).toEqual([expect.stringContaining(`${failing} `)]);
  expect(open[0]).toContain("Completed is False (FailedToDemote)");

  // A person gives up on it: it stays where it is.
  const policies = sites[0].client.resource(FailoverPolicy);
  await policies.patch({ name: nameOf(FAILING), namespace: namespaceOf(FAILING) }, { spec: { desiredState: "primary" } }, { signal });
  const first = await running;
  const lines = first.stdout.trimEnd().split("\n");
  const begun = lines.flatMap((line) => /Wave \d: .*/.exec(line)?.[0] ?? []);
  expect(begun).toEqual(["Wave 2: 16 policies", "Wave 1: 17 policies", "Wave 0: 17 policies"]);
  expect(first.stdout).toContain("Wave 2 is not done after 5s; starting the next one");
  const requested = lines.flatMap((line) => /app-(\d+): desiredState set to secondary/.exec(line)?.[1] ?? []).map((n) => Number(n) % WAVES);
  expect(requested).toHaveLength(POLICIES);
  expect(requested).toEqual(requested.toSorted((one, other) => other - one));
  expect(first.stdout).toContain(`${POLICIES - 1} of ${POLICIES} policies are secondary. RTO of the site: `);
  expect([first.code, lines.at(-1)]).toEqual([1, `${failing} is not: desiredState is now primary`]);

  await csiAddons.fix(failing);
  const second = await switched("-o", "json");
  const { items } = JSON.parse(second.stdout) as { items: { state: string }[] };
  expect([second.code, items.map(({ state }) => state)]).toEqual([0, all.map(() => "complete")]);
  expect(await storage.damage()).toEqual([]);
});

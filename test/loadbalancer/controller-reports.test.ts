import { nodeAnnotation } from "../../src/api/annotations.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { Service } from "../../src/api/core/service.ts";
import { Community } from "../../src/api/metallb/community.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../src/api/metallb/configuration-status.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { BalancedCluster, eventually, METALLB, type Running } from "./fixtures/balanced-cluster.ts";

const { signal } = new AbortController();
let cluster: BalancedCluster;
let controller: Running;

beforeAll(async () => {
  cluster = await BalancedCluster.start("lb-reports", ["--service-cluster-ip-range=10.96.0.0/12,fd96::/108"]);
  controller = cluster.controller("controller");
});
afterAll(async () => {
  await controller.stop();
  await cluster.stop();
});
beforeEach(() => cluster.clear());

/** Long enough for anything that is going to be sent. */
const quiet = () => sleep(2_500);
const inMetallb = (name: string) => ({ name, namespace: METALLB });
const counts = async (name: string) => (await cluster.readPool(name)).status;
const counted = (name: string, expected: object) => eventually(async () => expect(await counts(name)).toMatchObject(expected));
const claims = async (name: string) => Object.fromEntries(((await counts(name))?.claims ?? []).map(({ claim, since }) => [claim, since]));
const states = () => cluster.client.resource(ConfigurationState);
const state = (name: string) => states().get(name, { namespace: METALLB, signal });
const says = (result: string, lastError: string) =>
  eventually(async () => expect((await state("controller")).status).toMatchObject({ result, lastError }));
const aggregate = async () =>
  (await cluster.client.resource(ConfigurationStatus).get("config-status", { namespace: METALLB, signal })).status;

/** What the speaker of a node says. */
const report = async (node: string, status: object) => {
  const ref = inMetallb(`speaker-${node}`);
  const metadata = { ...ref, annotations: { [nodeAnnotation]: node } };
  await states().create({ metadata }, { signal });
  await states().patchStatus(ref, { status }, { signal });
};
const failure = (message: string) => ({ kind: "BGPPeer", name: "p", reason: "ValidationFailed", message, class: "Permanent" });

describe("IPAddressPool.status", () => {
  test("counts both families as Services come and go, follows the pool, and reverts edits by others", async () => {
    await cluster.pool("dual", ["192.0.2.0/30", "2001:db8::/64"]);
    await counted("dual", { assignedIPV4: 0, assignedIPV6: 0, availableIPV4: 4, availableIPV6: Number.MAX_SAFE_INTEGER, services: 0 });
    await cluster.service("one", { ipFamilyPolicy: "RequireDualStack" });
    await cluster.service("two");
    await counted("dual", { assignedIPV4: 2, assignedIPV6: 1, availableIPV4: 2, services: 2 });
    await cluster.removeService("two");
    await counted("dual", { assignedIPV4: 1, assignedIPV6: 1, availableIPV4: 3, services: 1 });
    await cluster.editPool("dual", { addresses: ["192.0.2.0/29", "2001:db8::/64"] });
    await counted("dual", { assignedIPV4: 1, availableIPV4: 7 });

    const pools = cluster.client.resource(IPAddressPool);
    await pools.patchStatus(inMetallb("dual"), { status: { assignedIPV4: 99, conditions: [] } }, { signal });
    await counted("dual", { assignedIPV4: 1, conditions: [{ type: "Exhausted", status: "False" }] });
    expect((await counts("dual"))?.claims?.map(({ claim }) => claim)).toEqual([
      "range/192.0.2.0-192.0.2.3",
      "range/192.0.2.4-192.0.2.7",
      "range/2001:db8::-2001:db8::ffff:ffff:ffff:ffff",
    ]);
  });

  test("reports exhaustion, and counts a shared address once", async () => {
    await cluster.pool("tight", ["192.0.2.10/32"]);
    const annotations = { "metallb.io/allow-shared-ip": "together" };
    await cluster.service("http", { annotations });
    await cluster.service("https", { annotations, ports: [{ protocol: "TCP", port: 443 }] });
    const full = { conditions: [{ type: "Exhausted", status: "True" }] };
    await counted("tight", { assignedIPV4: 1, availableIPV4: 0, services: 2, ...full });
    await cluster.removeService("http");
    await counted("tight", { assignedIPV4: 1, services: 1, ...full });
    await cluster.removeService("https");
    await counted("tight", { assignedIPV4: 0, services: 0, conditions: [{ type: "Exhausted", status: "False" }] });
    expect(await counts("tight")).toMatchObject({ availableIPV4: 1, assignedIPV6: 0, availableIPV6: 0 });
  });
});

describe("ConfigurationState controller", () => {
  test("has the labels of its component and is Valid", async () => {
    await says("Valid", "");
    expect((await state("controller")).metadata.labels).toEqual({ "metallb.io/component-type": "controller" });
  });

  test("is Invalid with every error as documented, and Valid once they are fixed", async () => {
    await cluster.pool("client1-pool", ["192.168.10.0/24"]);
    await eventually(async () => expect((await counts("client1-pool"))?.claims).toHaveLength(1));
    await cluster.pool("client2-pool", ["192.168.10.100/32"]);
    const overlap =
      'failed to parse configuration: CIDR "192.168.10.100/32" in pool "client2-pool" overlaps with already defined CIDR "192.168.10.0/24"';
    await says("Invalid", overlap);
    await cluster.client
      .resource(Community)
      .create({ metadata: inMetallb("odd"), spec: { communities: [{ name: "x", value: "1:2:3:4:5" }] } }, { signal });
    await eventually(async () => {
      const { status } = await state("controller");
      expect(status?.lastError?.split("failed to parse configuration: ")).toHaveLength(3);
      expect(status?.failedResources).toMatchObject([
        { kind: "Community", name: "odd", class: "Permanent", observedGeneration: 1 },
        { kind: "IPAddressPool", name: "client2-pool", observedGeneration: 1 },
      ]);
      expect(status?.resources).toMatchObject([
        { name: "odd", state: "Failed" },
        { name: "client1-pool", state: "Applied" },
        { name: "client2-pool", state: "Failed" },
      ]);
    });
    await eventually(async () => expect(await aggregate()).toMatchObject({ validConfig: false, invalidComponents: ["controller"] }));
    await cluster.client.resource(Community).delete(inMetallb("odd"), { signal });
    await cluster.client.resource(IPAddressPool).delete(inMetallb("client2-pool"), { signal });
    await says("Valid", "");
    await eventually(async () => expect(await aggregate()).toMatchObject({ validConfig: true, lastError: "" }));
  });

  test("is restored after deletion or edits by others", async () => {
    await cluster.pool("broken", ["nonsense"]);
    await eventually(async () => expect((await state("controller")).status?.result).toBe("Invalid"));
    const { status } = await state("controller");
    await states().delete(inMetallb("controller"), { signal });
    await eventually(async () =>
      expect((await state("controller")).status).toMatchObject({ result: "Invalid", lastError: status?.lastError }),
    );
    await states().patchStatus(inMetallb("controller"), { status: { result: "Valid", lastError: null } }, { signal });
    await says("Invalid", status?.lastError ?? "");
    await states().patch(inMetallb("controller"), { metadata: { labels: { "metallb.io/component-type": null } } }, { signal });
    await eventually(async () =>
      expect((await state("controller")).metadata.labels).toEqual({ "metallb.io/component-type": "controller" }),
    );
  });

  test("a range that shrinks and grows keeps the claim age of its old part, and a range that is given up is released", async () => {
    await cluster.pool("growing", ["192.0.2.0-192.0.2.9"]);
    await eventually(async () => expect(Object.keys(await claims("growing"))).toEqual(["range/192.0.2.0-192.0.2.9"]));
    const since = (await claims("growing"))["range/192.0.2.0-192.0.2.9"];
    await sleep(1_100);
    await cluster.editPool("growing", { addresses: ["192.0.2.5-192.0.2.19"] });
    await eventually(async () =>
      expect(Object.keys(await claims("growing"))).toEqual(["range/192.0.2.10-192.0.2.19", "range/192.0.2.5-192.0.2.9"]),
    );
    expect((await claims("growing"))["range/192.0.2.5-192.0.2.9"]).toBe(since);
    expect((await claims("growing"))["range/192.0.2.10-192.0.2.19"]).not.toBe(since);
  });
});

describe("ConfigurationStatus config-status", () => {
  test("summarizes all components, each error once, and is Unknown while one does not report", async () => {
    await says("Valid", "");
    const message = "peer peer1 referencing non existing bfd profile my-bfd-profile";
    for (const node of ["n1", "n2"]) await report(node, { result: "Invalid", lastError: message, failedResources: [failure(message)] });
    await report("n3", { result: "Valid" });
    await report("n4", {});
    await eventually(async () =>
      expect(await aggregate()).toMatchObject({
        validConfig: false,
        lastError: message,
        error: message,
        components: { valid: 2, invalid: 2, unknown: 1 },
        invalidComponents: ["speaker-n1", "speaker-n2"],
        unknownComponents: ["speaker-n4"],
        conditions: [{ type: "Valid", status: "False" }],
      }),
    );
    for (const node of ["n1", "n2"]) await states().delete(inMetallb(`speaker-${node}`), { signal });
    await eventually(async () =>
      expect(await aggregate()).toMatchObject({ validConfig: true, lastError: "", conditions: [{ status: "Unknown" }] }),
    );
    await cluster.client.resource(ConfigurationStatus).delete(inMetallb("config-status"), { signal });
    await eventually(async () => expect(await aggregate()).toMatchObject({ components: { valid: 2, invalid: 0, unknown: 1 } }));
    const edit = { status: { validConfig: false, lastError: "all is lost", components: { valid: 9, invalid: 9, unknown: 9 } } };
    await cluster.client.resource(ConfigurationStatus).patchStatus(inMetallb("config-status"), edit, { signal });
    await eventually(async () =>
      expect(await aggregate()).toMatchObject({ validConfig: true, lastError: "", components: { valid: 2, invalid: 0, unknown: 1 } }),
    );
    for (const node of ["n3", "n4"]) await states().delete(inMetallb(`speaker-${node}`), { signal });
    await eventually(async () => expect(await aggregate()).toMatchObject({ validConfig: true, conditions: [{ status: "True" }] }));
  });
});

test("writes nothing while nothing relevant changes, nor after a restart of the controller", async () => {
  await cluster.pool("rest", ["192.0.2.0/28", "2001:db8::/120"]);
  await cluster.pool("wrong", ["nonsense"]);
  for (let nth = 0; nth < 5; nth++) await cluster.service(`web-${nth}`, { ipFamilyPolicy: "PreferDualStack" });
  await counted("rest", { assignedIPV4: 5, assignedIPV6: 5 });
  await cluster.service("pending", { annotations: { "metallb.io/address-pool": "wrong" } });
  await eventually(async () => expect((await cluster.readService("pending")).status?.conditions).toHaveLength(1));
  // A condition may wait for its turn.
  await sleep(11_000);
  const before = await cluster.writes("controller");

  await cluster.client.resource(Namespace).create({ metadata: { name: "unrelated" } }, { signal });
  await cluster.client.resource(Secret).create({ metadata: { name: "unrelated", namespace: METALLB } }, { signal });
  await cluster.client.resource(Node).create({ metadata: { name: "heartbeat" } }, { signal });
  await cluster.client
    .resource(Node)
    .patchStatus({ name: "heartbeat" }, { status: { conditions: [{ type: "Ready", status: "True" }] } }, { signal });
  for (let nth = 0; nth < 5; nth++) {
    await cluster.editService(`web-${nth}`, { metadata: { labels: { touched: "yes" } } });
    await cluster.client
      .resource(IPAddressPool)
      .patch(inMetallb("rest"), { metadata: { annotations: { touched: String(nth) } } }, { signal });
  }
  await quiet();
  const quietWrites = (await cluster.writes("controller")).slice(before.length);
  // A node that is new gets its index, and is one more that does not announce.
  expect(quietWrites.filter((write) => !/nodes\/heartbeat|configmaps\/plumbline-members/.test(write))).toEqual([]);

  await controller.stop();
  const ended = (await cluster.writes("controller")).length;
  controller = cluster.controller("controller");
  await quiet();
  const writesAfter = (await cluster.writes("controller")).slice(ended);
  // Each process reports a rejection once.
  expect(writesAfter.filter((write) => !write.includes("events/"))).toEqual([]);
  await cluster.client.resource(Service).delete({ name: "pending", namespace: "shop" }, { signal });
});

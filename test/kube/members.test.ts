import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Node } from "../../src/api/core/node.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { eventually, installKinds, Membership, throughout } from "./fixtures/membership.ts";

const { signal } = new AbortController();
const name = "plumbline-members";
let api: SuiteApiServer;

beforeAll(async () => {
  api = await apiServer("members");
  const client = new KubeClient(api.access);
  await installKinds(client);
  client.close();
});

afterAll(() => api.stop());

/** A controller and these agents, all of them published. */
async function published({ onTestFinished }: TestContext, nodes: readonly string[]): Promise<Membership> {
  const membership = await Membership.create(api, nodes);
  onTestFinished(() => membership.end());
  for (const node of nodes) membership.startAgent(node);
  membership.startController();
  await eventually(async () => {
    const members = await membership.members();
    expect(members?.live).toEqual(nodes);
    expect(Object.keys(members?.indexes ?? {})).toEqual(expect.arrayContaining([...nodes]));
  });
  return membership;
}

async function index(it: Membership, node: string): Promise<number | undefined> {
  return (await it.members())?.indexes[node]?.index;
}

// Each waits most of the time, with a controller and nodes of its own.
describe.concurrent("the published members", () => {
  test("list each node that joins with its own index, and drop a deleted Node but keep its index", async (context) => {
    const it = await published(context, ["join-a", "join-b"]);
    await it.client.resource(Node).create({ metadata: { name: "join-c" } }, { signal });
    it.startAgent("join-c");
    await eventually(async () => {
      expect((await it.members())?.live).toEqual(["join-a", "join-b", "join-c"]);
      expect(await index(it, "join-c")).toBeDefined();
    });
    const [a, b, c] = [await index(it, "join-a"), await index(it, "join-b"), await index(it, "join-c")];
    expect(new Set([a, b, c]).size).toBe(3);

    await it.client.resource(Node).delete({ name: "join-b" }, { signal });
    await eventually(async () => expect((await it.members())?.freed.map((freed) => freed.index)).toContain(b));
    await it.client.resource(Node).create({ metadata: { name: "join-d" } }, { signal });
    await eventually(async () => expect(await index(it, "join-d")).toBeDefined());
    expect(await index(it, "join-d")).not.toBe(b);
    expect([await index(it, "join-a"), await index(it, "join-c")]).toEqual([a, c]);
  });

  test("have the keys of agents, follow a restarted agent with a new key, and drop the key of one that is downgraded", async (context) => {
    const it = await published(context, ["key-a", "key-b"]);
    const [one, two] = ["A", "B"].map((letter) => `${letter.repeat(43)}=`) as [string, string];
    expect((await it.members())?.keys).toEqual({});
    for (const key of [one, two, undefined]) {
      await it.stopAgents("key-a");
      it.startAgent("key-a", key === undefined ? {} : { signingKey: key });
      await eventually(async () => expect((await it.members())?.keys).toEqual(key === undefined ? {} : { "key-a": key }));
      expect((await it.members())?.live).toEqual(["key-a", "key-b"]);
    }
  });

  test("are repaired when someone breaks or deletes them, with the indexes they had", async (context) => {
    const it = await published(context, ["fix-a", "fix-b"]);
    const before = (await it.members())?.indexes["fix-b"];
    const ref = { name, namespace: it.namespace };
    await it.client.resource(ConfigMap).patch(ref, { data: { indexes: "{}", live: "everyone" } }, { signal });
    await eventually(async () => expect((await it.members())?.indexes["fix-b"]).toEqual(before));
    await it.client.resource(ConfigMap).delete(ref, { signal });
    await eventually(async () => expect((await it.members())?.indexes["fix-b"]).toEqual(before));
    expect((await it.members())?.live).toEqual(["fix-a", "fix-b"]);
  });

  test("go over to the next leader: indexes stay, and who was dead is not published as living", async (context) => {
    const it = await published(context, ["next-a", "next-b", "next-c"]);
    await it.stopAgents("next-c");
    await eventually(async () => expect((await it.members())?.live).toEqual(["next-a", "next-b"]));
    const before = await it.members();
    await it.stopController();
    it.startController();
    await throughout(2, async () => {
      const members = await it.members();
      expect(members?.live).toEqual(["next-a", "next-b"]);
      expect(members?.indexes["next-b"]).toEqual(before?.indexes["next-b"]);
    });
    it.startAgent("next-c");
    await eventually(async () => expect((await it.members())?.live).toEqual(["next-a", "next-b", "next-c"]));
  });

  test("are not repaired when they were broken without a leader, because new indexes would renumber every node", async (context) => {
    const it = await published(context, ["left-a"]);
    await it.stopController();
    await it.client.resource(ConfigMap).patch({ name, namespace: it.namespace }, { data: { indexes: "[]" } }, { signal });
    it.startController();
    await throughout(1, async () => expect((await it.stored())?.data?.["indexes"]).toBe("[]"));
  });
});

// Alone, because the Nodes of the others come and go.
test("members are not written again while no node joins or leaves", async (context) => {
  const it = await published(context, ["rest-a", "rest-b"]);
  const before = await it.stored();
  await throughout(2, async () => expect((await it.stored())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion));
});

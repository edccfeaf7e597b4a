import { expect, test, vi } from "vitest";
import type { JsonObject } from "../../../src/api/admission/value.ts";
import { core, map, paths, vni } from "./objects.ts";
import { MERGE, type Conforming } from "./servers.ts";

const HOLD = ["example.com/hold"];

interface Meta extends JsonObject {
  name: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  finalizers?: string[];
  ownerReferences?: { uid: string }[];
}
const metaOf = (json: JsonObject) => json["metadata"] as Meta;

/** What a cluster does in its own time. */
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 100 });

const conflict = (why: string) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: `Operation cannot be fulfilled on L3VNI.openpe.openperouter.github.io "red": ${why}`,
  reason: "Conflict",
  details: { name: "red", group: "openpe.openperouter.github.io", kind: "L3VNI" },
  code: 409,
});

const reference = (name: string, uid: string, more: JsonObject = {}) => ({ apiVersion: "v1", kind: "ConfigMap", name, uid, ...more });

export function deleting(server: () => Conforming): void {
  test("a finalizer keeps a deleted object until it is removed", async () => {
    const ns = await server().namespace();
    const path = `${paths.vnis(ns)}/red`;
    await server().send("POST", paths.vnis(ns), vni("red", {}, { finalizers: HOLD }));
    const deleted = await server().send("DELETE", path);
    expect([deleted.status, metaOf(deleted.json)]).toMatchObject([200, { generation: 2, deletionGracePeriodSeconds: 0, finalizers: HOLD }]);
    expect(metaOf(deleted.json).deletionTimestamp).toMatch(/^\d{4}-/);
    const again = await server().send("DELETE", path);
    expect(metaOf(again.json)).toEqual(metaOf(deleted.json));

    const more = await server().patch(path, MERGE, { metadata: { finalizers: [...HOLD, "example.com/more"] } });
    expect(more.json["message"]).toBe(
      'L3VNI.openpe.openperouter.github.io "red" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}',
    );
    const edited = await server().patch(path, MERGE, { spec: { vni: 7 }, metadata: { deletionTimestamp: null } });
    expect(metaOf(edited.json)).toMatchObject({ generation: 3, deletionTimestamp: metaOf(deleted.json).deletionTimestamp });
    const released = await server().patch(path, MERGE, { metadata: { finalizers: null } });
    expect([released.status, metaOf(released.json).resourceVersion]).toEqual([200, metaOf(edited.json).resourceVersion]);
    expect((await server().send("GET", path)).status).toBe(404);
  });

  test("preconditions are checked", async () => {
    const ns = await server().namespace();
    const path = `${paths.vnis(ns)}/red`;
    const { uid, resourceVersion } = metaOf((await server().send("POST", paths.vnis(ns), vni("red"))).json);
    expect((await server().send("DELETE", path, { preconditions: { uid: "x" } })).json).toEqual(
      conflict(
        `the UID in the precondition (x) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
      ),
    );
    expect((await server().send("DELETE", path, { preconditions: { resourceVersion: "1" } })).json).toEqual(
      conflict(
        `the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
      ),
    );
    expect((await server().send("DELETE", path, { preconditions: { uid, resourceVersion } })).status).toBe(200);
  });

  test("some kinds return the deleted object", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.services(ns), core("Service", "web", { spec: { ports: [{ port: 80 }] } }));
    expect((await server().send("DELETE", `${paths.services(ns)}/web`)).json).toMatchObject({ kind: "Service", metadata: { name: "web" } });
  });

  test("deletecollection respects the selector", async () => {
    const ns = await server().namespace();
    for (const [name, app] of [
      ["a", "x"],
      ["b", "y"],
      ["c", "x"],
    ] as const) {
      await server().send("POST", paths.vnis(ns), vni(name, {}, { labels: { app } }));
    }
    const { status } = await server().send("DELETE", `${paths.vnis(ns)}?labelSelector=app%3Dx`);
    expect(status).toBe(200);
    const { json } = await server().send("GET", paths.vnis(ns));
    expect((json["items"] as { metadata: Meta }[]).map(({ metadata }) => metadata.name)).toEqual(["b"]);
  });

  test("a terminating namespace deletes its content, waits for finalizers, and rejects new objects", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.maps(ns), map("free"));
    await server().send("POST", paths.maps(ns), map("held", {}, { finalizers: HOLD }));
    const deleted = await server().send("DELETE", `${paths.namespaces}/${ns}`);
    expect(deleted.json).toMatchObject({ kind: "Namespace", metadata: { name: ns }, status: { phase: "Terminating" } });
    const rejected = await server().send("POST", paths.maps(ns), map("new"));
    expect(rejected.json).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: `configmaps "new" is forbidden: unable to create new content in namespace ${ns} because it is being terminated`,
      reason: "Forbidden",
      details: {
        name: "new",
        kind: "configmaps",
        causes: [{ reason: "NamespaceTerminating", message: `namespace ${ns} is being terminated`, field: "metadata.namespace" }],
      },
      code: 403,
    });
    await eventually(async () => {
      expect((await server().send("GET", `${paths.maps(ns)}/free`)).status).toBe(404);
      expect(metaOf((await server().send("GET", `${paths.maps(ns)}/held`)).json).deletionTimestamp).toBeDefined();
    });
    await server().patch(`${paths.maps(ns)}/held`, MERGE, { metadata: { finalizers: null } });
    await eventually(async () => expect((await server().send("GET", `${paths.namespaces}/${ns}`)).status).toBe(404));
    expect((await server().send("DELETE", `${paths.namespaces}/default`)).json["message"]).toBe(
      'namespaces "default" is forbidden: this namespace may not be deleted',
    );
  });

  /** An owner, and what belongs to it: once alone, once together with another owner, and once blocking its deletion. */
  async function family(ns: string): Promise<{ owner: string; dependents: Record<"only" | "shared" | "blocking", string> }> {
    const owning = async (name: string) => metaOf((await server().send("POST", paths.maps(ns), map(name))).json).uid;
    const [owner, other] = [await owning("owner"), await owning("other")];
    const dependent = async (name: string, ownerReferences: JsonObject[]) => {
      await server().send("POST", paths.vnis(ns), vni(name, {}, { ownerReferences }));
      return `${paths.vnis(ns)}/${name}`;
    };
    return {
      owner: `${paths.maps(ns)}/owner`,
      dependents: {
        only: await dependent("only", [reference("owner", owner)]),
        shared: await dependent("shared", [reference("owner", owner), reference("other", other)]),
        blocking: await dependent("blocking", [reference("owner", owner, { blockOwnerDeletion: true })]),
      },
    };
  }
  const status = async (path: string) => (await server().send("GET", path)).status;

  test("deletes objects without an owner left; an object with another owner stays and loses the deleted reference", async () => {
    const { owner, dependents } = await family(await server().namespace());
    await server().send("DELETE", owner);
    await eventually(async () => {
      expect([await status(dependents.only), await status(dependents.blocking)]).toEqual([404, 404]);
      expect(metaOf((await server().send("GET", dependents.shared)).json).ownerReferences).toHaveLength(1);
    });
  });

  test("foreground deletion waits for blocking dependents", async () => {
    const { owner, dependents } = await family(await server().namespace());
    await server().patch(dependents.blocking, MERGE, { metadata: { finalizers: HOLD } });
    const deleted = await server().send("DELETE", owner, { propagationPolicy: "Foreground" });
    expect(metaOf(deleted.json).finalizers).toEqual(["foregroundDeletion"]);
    await eventually(async () => expect(metaOf((await server().send("GET", dependents.blocking)).json).deletionTimestamp).toBeDefined());
    expect(await status(owner)).toBe(200);
    await server().patch(dependents.blocking, MERGE, { metadata: { finalizers: null } });
    await eventually(async () => expect([await status(owner), await status(dependents.only)]).toEqual([404, 404]));
  });

  test("orphaned objects stay without an owner", async () => {
    const { owner, dependents } = await family(await server().namespace());
    const deleted = await server().send("DELETE", owner, { propagationPolicy: "Orphan" });
    expect(metaOf(deleted.json).finalizers).toEqual(["orphan"]);
    await eventually(async () => expect(await status(owner)).toBe(404));
    const { json } = await server().send("GET", dependents.only);
    expect([metaOf(json).ownerReferences, metaOf(json).deletionTimestamp]).toEqual([undefined, undefined]);
  });

  test("an owner with another uid is not the owner", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.maps(ns), map("owner"));
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "00000000-0000-4000-8000-000000000000" }];
    await server().send("POST", paths.vnis(ns), vni("red", {}, { ownerReferences }));
    await eventually(async () => expect(await status(`${paths.vnis(ns)}/red`)).toBe(404));
  });
}

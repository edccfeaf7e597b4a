import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../api/admission/value.ts";
import type { StoreChange } from "./history.ts";
import { configMap, faultOf, kindNamed, l3vni, newStore, withMetadata } from "../testing/fixtures.ts";
import type { StoreKey, Store } from "./store.ts";

const vnis = kindNamed("L3VNI");
const maps = kindNamed("ConfigMap");
const nodes = kindNamed("Node");
const leases = kindNamed("Lease");
const red: StoreKey = { name: "red", namespace: "default" };

const stored = (store: Store, ref: StoreKey = red) => store.get(vnis, ref).object;
const create = (store: Store, body: JsonObject) => store.create(vnis, "default", body).entry.object;
const edit = (store: Store, change: (object: JsonObject) => JsonObject, half: "main" | "status" = "main") =>
  store.update(vnis, red, (stored) => change({ ...stored }), { half }).entry.object;
const finalized = { finalizers: ["example.com/hold"] };

function changesOf(store: Store): string[] {
  const changes: string[] = [];
  store.subscribe((kind, { type, entry }: StoreChange) =>
    changes.push(`${type} ${kind.kind} ${entry.object.metadata.name}@${entry.revision}`),
  );
  return changes;
}

describe("create", () => {
  test("sets defaults and server-managed fields, and ignores those of the client", () => {
    const store = newStore();
    const given = { uid: "mine", generation: 7, creationTimestamp: "2001-01-01T00:00:00Z", deletionTimestamp: "2001-01-01T00:00:00Z" };
    const object = create(store, { ...l3vni("red", {}, given), status: { claims: [] } });
    expect(object).toEqual({
      apiVersion: "openpe.openperouter.github.io/v1alpha1",
      kind: "L3VNI",
      metadata: {
        name: "red",
        namespace: "default",
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        resourceVersion: "2",
        generation: 1,
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
      },
      spec: { vrf: "red", vni: 100, vxlanport: 4789 },
    });
    expect(object.metadata.uid).not.toBe("mine");
    expect(object.metadata.creationTimestamp?.startsWith("2001")).toBe(false);
  });

  test("generateName yields a name", () => {
    const { metadata } = create(newStore(), { ...l3vni(""), metadata: { generateName: "red-" } });
    expect(metadata.name).toMatch(/^red-[a-z0-9]{5}$/);
  });

  test("unknown fields are dropped with a warning, or rejected with fieldValidation=Strict", () => {
    const store = newStore();
    const body = l3vni("red", { vnii: 1 }, { labls: {} });
    expect(store.create(vnis, "default", body).warnings).toEqual(['unknown field "metadata.labls"', 'unknown field "spec.vnii"']);
    expect(stored(store)["spec"]).toEqual({ vrf: "red", vni: 100, vxlanport: 4789 });
    expect(faultOf(() => store.create(vnis, "default", l3vni("b", { x: 1 }), { fieldValidation: "Strict" }))).toEqual({
      code: 400,
      reason: "BadRequest",
      message: 'L3VNI in version "v1alpha1" cannot be handled as a L3VNI: strict decoding error: unknown field "spec.x"',
    });
  });

  test("an existing name is rejected", () => {
    const store = newStore();
    create(store, l3vni("red"));
    expect(faultOf(() => create(store, l3vni("red")))).toEqual({
      code: 409,
      reason: "AlreadyExists",
      message: 'l3vnis.openpe.openperouter.github.io "red" already exists',
    });
  });

  test("requires its namespace, which must not be terminating", () => {
    const store = newStore();
    expect(faultOf(() => store.create(vnis, "nowhere", l3vni("red")))).toMatchObject({
      code: 404,
      message: 'namespaces "nowhere" not found',
    });
    store.create(kindNamed("Namespace"), undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "going" } });
    store.delete(kindNamed("Namespace"), { name: "going" });
    expect(faultOf(() => store.create(vnis, "going", l3vni("red")))).toEqual({
      code: 403,
      reason: "Forbidden",
      message:
        'l3vnis.openpe.openperouter.github.io "red" is forbidden: unable to create new content in namespace going because it is being terminated',
    });
  });

  test("a dry run changes nothing", () => {
    const store = newStore();
    const changes = changesOf(store);
    expect(store.create(vnis, "default", l3vni("red"), { dryRun: true }).entry.object.metadata.resourceVersion).toBeUndefined();
    expect([store.find(vnis, red), changes, store.revision]).toEqual([undefined, [], 1]);
  });

  test("all errors are reported at once", () => {
    const fault = faultOf(() => create(newStore(), l3vni("Red_", { vni: 0, vrf: "0" }, { labels: { "a b": "ok" } })));
    expect(fault.code).toBe(422);
    expect(fault.message.match(/\b(metadata|spec)\.\w+(?=: )/g)).toEqual(["metadata.name", "metadata.labels", "spec.vrf", "spec.vni"]);
  });

  test.each([
    [{ labels: { a: 1 } }, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"],
    [{ labels: [] }, "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string"],
    [{ finalizers: "x" }, "json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string"],
    [{ name: true }, "json: cannot unmarshal bool into Go struct field ObjectMeta.name of type string"],
    [
      { ownerReferences: [{ controller: "yes" }] },
      "json: cannot unmarshal string into Go struct field OwnerReference.ownerReferences.controller of type bool",
    ],
  ])("metadata of the wrong type is rejected: %j", (metadata, why) => {
    expect(faultOf(() => create(newStore(), { ...l3vni("red"), metadata: { name: "red", ...metadata } }))).toEqual({
      code: 400,
      reason: "BadRequest",
      message: `L3VNI in version "v1alpha1" cannot be handled as a L3VNI: ${why}`,
    });
  });
});

describe("update", () => {
  test("a spec change increments the generation, a label change does not, and no change writes nothing", () => {
    const store = newStore();
    create(store, l3vni("red"));
    expect(edit(store, (object) => ({ ...object, spec: { vrf: "red", vni: 200 } })).metadata).toMatchObject({
      generation: 2,
      resourceVersion: "3",
    });
    const labeled = edit(store, withMetadata({ labels: { a: "b" } }));
    expect(labeled.metadata).toMatchObject({ generation: 2, resourceVersion: "4", labels: { a: "b" } });
    expect(edit(store, (object) => object).metadata.resourceVersion).toBe("4");
    expect(store.revision).toBe(4);
  });

  test("spec and status are written separately", () => {
    const store = newStore();
    create(store, l3vni("red"));
    const claims = [{ claim: "vni/100", since: "2026-01-01T00:00:00Z" }];
    const both = (object: JsonObject) => ({
      ...withMetadata({ labels: { a: "b" } })(object),
      spec: { vrf: "red", vni: 300 },
      status: { claims },
    });
    const status = edit(store, both, "status");
    expect([status["spec"], status["status"], status.metadata.labels, status.metadata.generation]).toEqual([
      { vrf: "red", vni: 100, vxlanport: 4789 },
      { claims },
      undefined,
      1,
    ]);
    const main = edit(store, (object) => ({ ...both(object), status: {} }));
    expect([main["spec"], main["status"], main.metadata.labels]).toEqual([
      { vrf: "red", vni: 300, vxlanport: 4789 },
      { claims },
      { a: "b" },
    ]);
  });

  test("a status write of a core kind changes labels and annotations too, and nothing else", () => {
    const store = newStore();
    store.create(nodes, undefined, { apiVersion: "v1", kind: "Node", metadata: { name: "n1" }, spec: { podCIDR: "10.0.0.0/24" } });
    const annotated = withMetadata({ annotations: { a: "b" } });
    const { object } = store.update(nodes, { name: "n1" }, (stored) => ({ ...annotated(stored), spec: {}, status: { phase: "x" } }), {
      half: "status",
    }).entry;
    expect(object).toMatchObject({ metadata: { annotations: { a: "b" } }, spec: { podCIDR: "10.0.0.0/24" }, status: { phase: "x" } });
  });

  test("an outdated resourceVersion is rejected, and so is a missing one if the kind requires it", () => {
    const store = newStore();
    const first = create(store, l3vni("red"));
    edit(store, (object) => ({ ...object, spec: { vrf: "red", vni: 2 } }));
    expect(faultOf(() => store.update(vnis, red, () => ({ ...first })))).toEqual({
      code: 409,
      reason: "Conflict",
      message:
        'Operation cannot be fulfilled on l3vnis.openpe.openperouter.github.io "red": the object has been modified; please apply your changes to the latest version and try again',
    });
    expect(faultOf(() => store.update(vnis, red, () => l3vni("red")))).toMatchObject({
      code: 422,
      message:
        'l3vnis.openpe.openperouter.github.io "red" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    });
    store.create(maps, "default", configMap("m"));
    const { entry } = store.update(maps, { name: "m", namespace: "default" }, () => configMap("m", { a: "b" }));
    expect(entry.object["data"]).toEqual({ a: "b" });
  });

  test("a dry run is validated and changes nothing", () => {
    const store = newStore();
    create(store, l3vni("red"));
    const changes = changesOf(store);
    const tried = store.update(vnis, red, (stored) => ({ ...stored, spec: { vrf: "red", vni: 7 } }), { dryRun: true });
    expect(tried.entry.object).toMatchObject({ spec: { vni: 7 }, metadata: { generation: 2 } });
    expect([changes, stored(store)["spec"]]).toEqual([[], { vrf: "red", vni: 100, vxlanport: 4789 }]);
  });

  test("a PUT creates a missing object if the kind allows it, a patch never does", () => {
    const store = newStore();
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" }, spec: { holderIdentity: "me" } };
    const ref = { name: "l", namespace: "default" };
    expect(faultOf(() => store.update(leases, ref, () => lease, { patch: true })).code).toBe(404);
    expect(store.update(leases, ref, () => lease).created).toBe(true);
    expect(faultOf(() => store.update(vnis, red, () => l3vni("red"))).code).toBe(404);
  });

  test.each([
    [{ uid: "other" }, 'metadata.uid: Invalid value: "other": field is immutable'],
    [
      { deletionTimestamp: "2001-01-01T00:00:00Z" },
      'metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable',
    ],
    [{ deletionGracePeriodSeconds: 5 }, "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable"],
  ])("a patch cannot change server-managed fields: %j", (change, why) => {
    const store = newStore();
    create(store, l3vni("red"));
    expect(faultOf(() => store.update(vnis, red, withMetadata(change), { patch: true })).message).toBe(
      `L3VNI.openpe.openperouter.github.io "red" is invalid: ${why}`,
    );
  });

  test("a PUT with another object's uid is rejected", () => {
    const store = newStore();
    create(store, l3vni("red"));
    expect(faultOf(() => store.update(vnis, red, withMetadata({ uid: "other" })))).toMatchObject({ code: 409, reason: "Conflict" });
  });
});

describe("delete", () => {
  test("removes the object, and watchers get its last state with the revision of the deletion", () => {
    const store = newStore();
    create(store, l3vni("red"));
    const changes = changesOf(store);
    expect(store.delete(vnis, red).deleted).toBe(true);
    expect(changes).toEqual(["DELETED L3VNI red@3"]);
    expect(faultOf(() => store.delete(vnis, red))).toMatchObject({ code: 404, reason: "NotFound" });
  });

  test("a finalizer delays it: the object gets a deletion timestamp, no new finalizers, and is deleted with the last one", () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-01-01T00:00:00Z") });
    onTestFinished(() => void vi.useRealTimers());
    const store = newStore();
    create(store, l3vni("red", {}, finalized));
    const changes = changesOf(store);
    const { entry, deleted } = store.delete(vnis, red);
    expect(deleted).toBe(false);
    vi.setSystemTime("2026-01-01T00:01:00Z");
    expect(entry.object.metadata.deletionTimestamp).toBe("2026-01-01T00:00:00Z");
    expect(entry.object.metadata).toMatchObject({ generation: 2, deletionGracePeriodSeconds: 0, ...finalized });
    expect(store.delete(vnis, red).entry).toBe(entry);

    const withFinalizers = (...finalizers: string[]) => edit(store, withMetadata({ finalizers }));
    expect(faultOf(() => withFinalizers("example.com/hold", "example.com/more")).message).toContain(
      'no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}',
    );
    const last = withFinalizers();
    expect(last.metadata).toMatchObject({ resourceVersion: "3", generation: 2 });
    expect(changes).toEqual(["MODIFIED L3VNI red@3", "DELETED L3VNI red@4"]);
    expect(store.find(vnis, red)).toBeUndefined();
  });

  test("preconditions protect a new object of the same name", () => {
    const store = newStore();
    const { metadata } = create(store, l3vni("red"));
    expect(faultOf(() => store.delete(vnis, red, { uid: "other" }))).toEqual({
      code: 409,
      reason: "Conflict",
      message: `Operation cannot be fulfilled on L3VNI.openpe.openperouter.github.io "red": the UID in the precondition (other) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    });
    expect(faultOf(() => store.delete(vnis, red, { resourceVersion: "1" })).message).toContain("The object might have been modified");
    expect(store.delete(vnis, red, { uid: metadata.uid ?? "", resourceVersion: "2" }).deleted).toBe(true);
  });

  test("some namespaces cannot be deleted, the others become terminating first", () => {
    const store = newStore();
    const namespaces = kindNamed("Namespace");
    expect(faultOf(() => store.delete(namespaces, { name: "default" }))).toEqual({
      code: 403,
      reason: "Forbidden",
      message: 'namespaces "default" is forbidden: this namespace may not be deleted',
    });
    store.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "x" } });
    const { entry } = store.delete(namespaces, { name: "x" });
    expect(entry.object).toMatchObject({ status: { phase: "Terminating" }, metadata: { labels: { "kubernetes.io/metadata.name": "x" } } });
    expect(store.delete(namespaces, { name: "x" }).entry).toBe(entry);
  });
});

test("a watcher that throws is removed, and neither the writer nor other watchers are affected", () => {
  const faults: unknown[] = [];
  const store = newStore(undefined, (error) => faults.push(error));
  const types: string[] = [];
  const cutOff: unknown[] = [];
  const broken = new Error("cannot be shown");
  const fail = () => {
    throw broken;
  };
  const collection = store.collection(vnis);
  collection.watch({ noticed: fail, cutOff: (error) => cutOff.push(error) });
  collection.watch({ noticed: ({ type }) => types.push(type), cutOff: fail });
  store.subscribe(fail);
  const changes = changesOf(store);
  create(store, l3vni("red"));
  store.delete(vnis, red);
  expect([types, cutOff, faults]).toEqual([["ADDED", "DELETED"], [broken], [broken, broken]]);
  expect(changes).toHaveLength(2);
});

describe("the journal", () => {
  test("a change that cannot be written is not applied", () => {
    let broken = false;
    const store = newStore({
      append: () => {
        if (broken) throw new Error("no space");
      },
    });
    create(store, l3vni("red"));
    const before = store.get(vnis, red);
    const changes = changesOf(store);
    broken = true;
    expect(() => create(store, l3vni("blue"))).toThrow("no space");
    expect(() => edit(store, (object) => ({ ...object, spec: { vrf: "red", vni: 1 } }))).toThrow("no space");
    expect(() => store.delete(vnis, red)).toThrow("no space");
    expect([store.get(vnis, red), store.revision, changes, store.collection(vnis).size]).toEqual([before, 2, [], 1]);
  });
});

describe("core kinds", () => {
  test("a Service has its defaults, and an immutable ConfigMap cannot change", () => {
    const store = newStore();
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web" }, spec: { type: "LoadBalancer", ports: [{ port: 80 }] } };
    expect(store.create(kindNamed("Service"), "default", service).entry.object).toMatchObject({
      spec: {
        type: "LoadBalancer",
        sessionAffinity: "None",
        externalTrafficPolicy: "Cluster",
        internalTrafficPolicy: "Cluster",
        allocateLoadBalancerNodePorts: true,
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        ports: [{ port: 80, targetPort: 80, protocol: "TCP" }],
      },
      status: { loadBalancer: {} },
    });
    store.create(maps, "default", { ...configMap("m", { a: "b" }), immutable: true });
    expect(faultOf(() => store.update(maps, { name: "m", namespace: "default" }, () => configMap("m", { a: "c" }))).message).toBe(
      'ConfigMap "m" is invalid: [immutable: Forbidden: field is immutable when `immutable` is set, data: Forbidden: field is immutable when `immutable` is set]',
    );
  });

  test("a Secret accepts stringData and returns base64", () => {
    const body = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { a: "b" } };
    const { object } = newStore().create(kindNamed("Secret"), "default", body).entry;
    expect([object["data"], object["stringData"], object["type"]]).toEqual([{ a: "Yg==" }, undefined, "Opaque"]);
  });
});

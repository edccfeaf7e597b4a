import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import { applyManifest, overrides, removeManifest, resetOverrides } from "./apply-manifest.ts";
import { configMap, faultOf, kindNamed, l3vni, newStore, withMetadata } from "../testing/fixtures.ts";
import type { Store } from "./store.ts";

const vnis = kindNamed("L3VNI");
const maps = kindNamed("ConfigMap");
const namespaces = kindNamed("Namespace");
const red = { name: "red", namespace: "default" };
const source = { path: "site/vnis.yaml", line: 3 };

const file = (spec: JsonObject = {}, metadata: JsonObject = {}) => l3vni("red", spec, metadata) as unknown as KubeObject;
const specOf = (store: Store) => store.get(vnis, red).object["spec"];
const node = (address: string): KubeObject & { status: object } => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1" },
  status: { addresses: [{ type: "InternalIP", address }] },
});
const program = (store: Store, spec: JsonObject) =>
  store.update(vnis, red, (stored) => ({ ...stored, spec: { ...(stored?.["spec"] as object), ...spec } }));

describe("a manifest", () => {
  test("is created with its defaults, and applied again it changes nothing", () => {
    const store = newStore();
    expect(applyManifest(store, file(), source)).toEqual({ kind: vnis, ref: red, outcome: "created", warnings: [] });
    const { revision } = store;
    expect(applyManifest(store, file(), { ...source, line: 9 }).outcome).toBe("unchanged");
    expect([store.revision, store.declarationOf(vnis, red)?.source.line]).toEqual([revision, 9]);
    expect(specOf(store)).toEqual({ vrf: "red", vni: 100, vxlanport: 4789 });
  });

  test("changes only its changed fields, and keeps values of programs until it changes that field", () => {
    const store = newStore();
    applyManifest(store, file({ exportRTs: ["1:1"] }, { labels: { a: "file" } }), source);
    program(store, { vni: 7, importRTs: ["9:9"] });
    store.update(vnis, red, withMetadata({ labels: { a: "program", b: "program" } }));

    expect(applyManifest(store, file({ exportRTs: ["2:2"] }, { labels: { a: "file" } }), source).outcome).toBe("changed");
    expect(specOf(store)).toEqual({ vrf: "red", vni: 7, vxlanport: 4789, exportRTs: ["2:2"], importRTs: ["9:9"] });
    expect(store.get(vnis, red).object.metadata.labels).toEqual({ a: "program", b: "program" });

    applyManifest(store, file({ vni: 8 }, { labels: { a: "new" } }), source);
    expect(specOf(store)).toEqual({ vrf: "red", vni: 8, vxlanport: 4789, importRTs: ["9:9"] });
    expect(store.get(vnis, red).object.metadata.labels).toEqual({ a: "new", b: "program" });
  });

  test("keeps the last good version when the new one is invalid, and continues from there", () => {
    const store = newStore();
    applyManifest(store, file(), source);
    expect(faultOf(() => applyManifest(store, file({ vni: 0, exportRTs: ["1:1"] }), source)).code).toBe(422);
    expect(specOf(store)).toEqual({ vrf: "red", vni: 100, vxlanport: 4789 });
    applyManifest(store, file({ vni: 101 }), source);
    expect(specOf(store)).toEqual({ vrf: "red", vni: 101, vxlanport: 4789 });
  });

  test("reports unknown fields", () => {
    expect(applyManifest(newStore(), file({ vnii: 1 }), source).warnings).toEqual(['unknown field "spec.vnii"']);
    expect(faultOf(() => applyManifest(newStore(), { ...file(), kind: "L9VNI" }, source)).message).toBe(
      'no matches for kind "L9VNI" in version "openpe.openperouter.github.io/v1alpha1"',
    );
  });

  test("creates its namespace and adopts an object that a program created", () => {
    const store = newStore();
    applyManifest(store, configMap("m", {}, { namespace: "shop" }) as unknown as KubeObject, source);
    expect(store.find(namespaces, { name: "shop" })).toBeDefined();
    store.create(vnis, "default", l3vni("red", { vni: 7, exportRTs: ["1:1"] }));
    expect(applyManifest(store, file(), source).outcome).toBe("changed");
    expect(specOf(store)).toMatchObject({ vni: 100, exportRTs: ["1:1"] });
  });

  test("does not change the status, except of a Node, which has no kubelet here", () => {
    const store = newStore();
    applyManifest(store, { ...file(), status: { claims: [] } } as KubeObject, source);
    expect(store.get(vnis, red).object["status"]).toBeUndefined();
    const nodes = kindNamed("Node");
    applyManifest(store, node("192.0.2.1"), source);
    const ready = { type: "Ready", status: "True" };
    store.update(nodes, { name: "n1" }, (stored) => ({ ...stored, status: { ...(stored?.["status"] as object), conditions: [ready] } }), {
      half: "status",
    });
    applyManifest(store, node("192.0.2.2"), source);
    expect(store.get(nodes, { name: "n1" }).object["status"]).toEqual({
      addresses: [{ type: "InternalIP", address: "192.0.2.2" }],
      conditions: [ready],
    });
  });

  test("for any history, changed fields have the value of the file, and other fields stay", () => {
    const value = fc.record({ vni: fc.integer({ min: 1, max: 9 }), exportRTs: fc.array(fc.constantFrom("1:1", "2:2"), { maxLength: 2 }) });
    fc.assert(
      fc.property(fc.array(fc.record({ who: fc.constantFrom("file", "program"), value }), { maxLength: 12 }), value, (course, last) => {
        const store = newStore();
        applyManifest(store, file({ vni: 9, exportRTs: [] }), source);
        for (const { who, value: spec } of course) {
          if (who === "file") applyManifest(store, file(spec), source);
          else program(store, spec);
        }
        // Every field that the file now says otherwise than before is the file's.
        const before = store.declarationOf(vnis, red)?.manifest as unknown as { spec: JsonObject };
        const current = specOf(store) as JsonObject;
        applyManifest(store, file(last), source);
        for (const name of ["vni", "exportRTs"] as const) {
          const changed = JSON.stringify(before.spec[name]) !== JSON.stringify(last[name]);
          expect((specOf(store) as JsonObject)[name]).toEqual(changed ? last[name] : current[name]);
        }
      }),
      { seed: 7, numRuns: 200 },
    );
  });
});

describe("overrides", () => {
  test("are the fields that differ from the file, and can be reset", () => {
    const store = newStore();
    applyManifest(store, file({}, { labels: { a: "b" } }), source);
    expect(overrides(store, vnis, red)).toEqual([]);
    program(store, { vni: 7, exportRTs: ["1:1"] });
    store.update(vnis, red, withMetadata({ labels: { a: "c", mine: "x" }, annotations: { note: "y" } }));
    store.update(vnis, red, (stored) => ({ ...stored, status: { claims: [{ claim: "vni/7", since: "2026-01-01T00:00:00Z" }] } }), {
      half: "status",
    });
    expect(overrides(store, vnis, red)).toEqual([
      { field: "metadata.labels[a]", declared: "b", current: "c" },
      { field: "spec.vni", declared: 100, current: 7 },
      { field: "spec.exportRTs", declared: undefined, current: ["1:1"] },
    ]);
    const { object } = resetOverrides(store, vnis, red);
    expect(overrides(store, vnis, red)).toEqual([]);
    expect(object).toMatchObject({
      metadata: { labels: { a: "b", mine: "x" }, annotations: { note: "y" } },
      spec: { vrf: "red", vni: 100, vxlanport: 4789 },
      status: { claims: [{ claim: "vni/7" }] },
    });
  });

  test("do not exist for an object without a file", () => {
    const store = newStore();
    store.create(vnis, "default", l3vni("red"));
    expect(overrides(store, vnis, red)).toEqual([]);
    expect(faultOf(() => resetOverrides(store, vnis, red)).message).toBe("L3VNI red is not in a manifest file: nothing to reset to");
  });
});

describe("a file that no longer has an object", () => {
  test("deletes the object after its finalizers are removed", () => {
    const store = newStore();
    applyManifest(store, file({}, { finalizers: ["example.com/hold"] }), source);
    removeManifest(store, vnis, red);
    expect(store.get(vnis, red).object.metadata.deletionTimestamp).toBeDefined();
    expect(store.declarationOf(vnis, red)).toBeUndefined();
    store.update(vnis, red, withMetadata({ finalizers: [] }));
    expect(store.find(vnis, red)).toBeUndefined();
  });

  test("keeps a namespace with objects of other files", () => {
    const store = newStore();
    applyManifest(store, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } }, source);
    applyManifest(store, configMap("m", {}, { namespace: "shop" }) as unknown as KubeObject, source);
    removeManifest(store, namespaces, { name: "shop" });
    expect(store.get(namespaces, { name: "shop" }).object.metadata.deletionTimestamp).toBeUndefined();
    removeManifest(store, maps, { name: "m", namespace: "shop" });
    store.delete(namespaces, { name: "shop" });
    expect(store.get(namespaces, { name: "shop" }).object.metadata.deletionTimestamp).toBeDefined();
  });

  test("is required for a delete through the API: the error names file and line", () => {
    const store = newStore();
    applyManifest(store, file(), source);
    expect(faultOf(() => store.delete(vnis, red))).toEqual({
      code: 403,
      reason: "Forbidden",
      message: 'l3vnis.openpe.openperouter.github.io "red" is forbidden: it is in site/vnis.yaml:3; remove it there',
    });
    applyManifest(store, configMap("m", {}, { namespace: "shop" }) as unknown as KubeObject, source);
    expect(faultOf(() => store.delete(namespaces, { name: "shop" })).message).toBe(
      'namespaces "shop" is forbidden: it contains ConfigMap m, which is in site/vnis.yaml:3; remove that first',
    );
  });
});

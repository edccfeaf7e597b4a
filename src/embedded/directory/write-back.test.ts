import { beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { applyManifest } from "../store/apply-manifest.ts";
import { internalError } from "../store/api-error.ts";
import { FileWriteBack, type AppliedFiles } from "./write-back.ts";
import type { ManifestSource } from "../store/declaration.ts";
import { faultOf, kindNamed, l3vni, newStore, withMetadata } from "../testing/fixtures.ts";
import type { Store } from "../store/store.ts";

const vnis = kindNamed("L3VNI");
const red = { name: "red", namespace: "default" };

/** Files in memory. */
class Files implements AppliedFiles {
  readonly stored = new Map<string, KubeObject>();
  full = false;

  write(_kind: object, manifest: KubeObject): ManifestSource {
    if (this.full) throw internalError("the file cannot be written: no space left on device");
    const path = `applied/l3vnis.${manifest.metadata.namespace}.${manifest.metadata.name}.yaml`;
    this.stored.set(path, manifest);
    return { path, line: 1, applied: true };
  }

  remove({ path }: ManifestSource): void {
    this.stored.delete(path);
  }
}

let store: Store;
let files: Files;
let keeping: FileWriteBack;
const stored = () => [...files.stored.values()];

beforeEach(() => {
  store = newStore();
  files = new Files();
  keeping = new FileWriteBack(store, files);
});

test("an object of a user is written to a file as submitted, and one of a program is not", () => {
  const { revision } = store;
  keeping.create(vnis, "default", { ...l3vni("red", {}, { labels: { a: "b" }, uid: "x" }), status: {} }, "person", {});
  expect(stored()).toEqual([
    {
      apiVersion: "openpe.openperouter.github.io/v1alpha1",
      kind: "L3VNI",
      metadata: { name: "red", namespace: "default", labels: { a: "b" } },
      spec: { vrf: "red", vni: 100 },
    },
  ]);
  expect(store.revision).toBe(revision + 1);
  keeping.create(vnis, "default", l3vni("blue"), "program", {});
  expect(files.stored.size).toBe(1);
  // The file that appears is what the store has already.
  const [manifest] = stored();
  expect(manifest && applyManifest(store, manifest, { path: "applied/x.yaml", line: 1, applied: true }).outcome).toBe("unchanged");
});

test("a generated name is the file's name too", () => {
  const { entry } = keeping.create(vnis, "default", { ...l3vni(""), metadata: { generateName: "vni-" } }, "person", {});
  expect(stored()[0]?.metadata.name).toBe(entry.object.metadata.name);
});

test("no file is written for a rejected object or a dry run, and nothing is stored if the file cannot be written", () => {
  expect(faultOf(() => keeping.create(vnis, "default", l3vni("red", { vni: 0 }), "person", {})).code).toBe(422);
  keeping.create(vnis, "default", l3vni("red"), "person", { dryRun: true });
  expect(files.stored.size).toBe(0);
  files.full = true;
  expect(faultOf(() => keeping.create(vnis, "default", l3vni("red"), "person", {})).code).toBe(500);
  expect(store.find(vnis, red)).toBeUndefined();
});

test("a change by a user is written to our file, and one by a program is not", () => {
  keeping.create(vnis, "default", l3vni("red"), "person", {});
  keeping.update(vnis, red, (object) => ({ ...object, spec: { ...(object?.["spec"] as object), vni: 7 } }), "program", {});
  expect(stored()[0]).toMatchObject({ spec: { vrf: "red", vni: 100 } });
  keeping.update(vnis, red, (object) => ({ ...object, spec: { ...(object?.["spec"] as object), vrf: "blue" } }), "person", {});
  expect(stored()[0]).toEqual({ ...stored()[0], spec: { vrf: "blue", vni: 100 } });
  expect(store.declarationOf(vnis, red)?.manifest).toEqual(stored()[0]);
});

test("the last-applied annotation of kubectl is in the object and not in the file", () => {
  const note = { "kubectl.kubernetes.io/last-applied-configuration": "{}" };
  keeping.create(vnis, "default", l3vni("red", {}, { annotations: { ...note, mine: "x" } }), "person", {});
  expect(store.get(vnis, red).object.metadata.annotations).toEqual({ ...note, mine: "x" });
  expect(stored()[0]?.metadata.annotations).toEqual({ mine: "x" });
  const { size } = files.stored;
  keeping.update(vnis, red, withMetadata({ annotations: { ...note, mine: "y" } }), "person", {});
  expect([files.stored.size, stored()[0]?.metadata.annotations]).toEqual([size, { mine: "y" }]);
  keeping.update(vnis, red, withMetadata({ annotations: note }), "person", {});
  expect(stored()[0]?.metadata).toEqual({ name: "red", namespace: "default" });
  expect(store.get(vnis, red).object.metadata.annotations).toEqual(note);
});

test("a change of an object from a user's file is reported, and the file is not changed", () => {
  const manifest = l3vni("red", {}, { namespace: "default" }) as unknown as KubeObject;
  applyManifest(store, manifest, { path: "vnis.yaml", line: 12 });
  const change = (vni: number) =>
    keeping.update(vnis, red, (object) => ({ ...object, spec: { ...(object?.["spec"] as object), vni } }), "person", {});
  expect(change(100).warnings).toEqual([]);
  expect(change(7).warnings).toEqual([
    "L3VNI red is in vnis.yaml:12; this change lasts until the file changes the same field, or until plumbline apply --reset",
  ]);
  expect([files.stored.size, store.declarationOf(vnis, red)?.manifest]).toEqual([0, manifest]);
  const status = keeping.update(vnis, red, withMetadata({}), "program", { half: "status" });
  expect(status.warnings).toEqual([]);
});

test("deleting an object deletes its file, and a dry run does not", () => {
  keeping.create(vnis, "default", l3vni("red"), "person", {});
  keeping.delete(vnis, red, { dryRun: true });
  expect(files.stored.size).toBe(1);
  expect(faultOf(() => keeping.delete(vnis, red, { uid: "other" })).code).toBe(409);
  expect(files.stored.size).toBe(1);
  expect(keeping.delete(vnis, red, {}).deleted).toBe(true);
  expect(files.stored.size).toBe(0);
});

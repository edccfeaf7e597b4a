import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLog } from "../../kube/log.ts";
import { conflict, internalError } from "../store/api-error.ts";
import { FileWriteBack } from "./write-back.ts";
import { configMap, faultOf, kindNamed, l3vni, newStore, withMetadata } from "../testing/fixtures.ts";
import type { Store } from "../store/store.ts";
import { AppliedManifests } from "./applied-manifests.ts";
import { ManifestDirectory } from "./directory.ts";
import { texts } from "../testing/memory-store.ts";
import { StoreTarget } from "./store-target.ts";

const vnis = kindNamed("L3VNI");
const maps = kindNamed("ConfigMap");
const red = { name: "red", namespace: "default" };

let root: string;
let store: Store;
let directory: ManifestDirectory;
let keeping: FileWriteBack;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "plumbline-files-"));
  store = newStore();
  open();
});

afterEach(async () => {
  await directory.run(AbortSignal.abort());
  rmSync(root, { recursive: true });
});

/** What a start of the process does. */
function open(): void {
  const sink = new StoreTarget(store);
  directory = new ManifestDirectory({ root, sink, known: sink.known(), log: createLog({ level: "silent" }) });
  sink.onDeleted((key) => directory.lost(key));
  keeping = new FileWriteBack(store, new AppliedManifests(directory, sink));
}

/** Writes files and reads everything. */
async function read(files: Readonly<Record<string, string>> = {}): Promise<void> {
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
  await directory.load(AbortSignal.timeout(10_000));
}

const vni = (value: number, more = "") =>
  `apiVersion: openpe.openperouter.github.io/v1alpha1\nkind: L3VNI\nmetadata:\n  name: red\nspec:\n  vrf: red\n  vni: ${value}\n${more}`;
const applied = () => readdirSync(join(root, "applied"));
const problems = () => texts(directory.problems.list());
const specOf = () => store.get(vnis, red).object["spec"];

describe("the objects of the files", () => {
  test("are stored with their positions and deleted with their files", async () => {
    await read({ "red.yaml": `# red\n${vni(100)}` });
    expect(specOf()).toMatchObject({ vni: 100, vxlanport: 4789 });
    expect(store.declarationOf(vnis, red)?.source).toEqual({ path: "red.yaml", line: 2 });
    await read({ "red.yaml": vni(100) });
    expect(store.declarationOf(vnis, red)?.source).toEqual({ path: "red.yaml", line: 1 });
    rmSync(join(root, "red.yaml"));
    await read();
    expect(store.find(vnis, red)).toBeUndefined();
  });

  test("have one problem per field, each with its line", async () => {
    await read({ "red.yaml": vni(100) });
    await read({ "red.yaml": vni(0, "  vnii: 7\n  exportRTs:\n  - 1:1\n  - 5\n") });
    expect(problems().map((text) => text.replace(/: Invalid value.*/, ""))).toEqual([
      "red.yaml:7:3: spec.vni",
      "red.yaml:11:5: spec.exportRTs[1]",
    ]);
    expect(specOf()).toMatchObject({ vni: 100 });
    await read({ "red.yaml": vni(102, "  vnii: 7\n") });
    expect(directory.problems.list()).toMatchObject([
      { path: "red.yaml", line: 8, level: "warning", message: 'unknown field "spec.vnii"' },
    ]);
    expect(specOf()).toMatchObject({ vni: 102 });
  });

  test("may be the output of kubectl get -o yaml", async () => {
    const printed = vni(100, "status: {}\n").replace(
      "  name: red",
      "  name: red\n  uid: 7\n  resourceVersion: '55'\n  generation: 3\n  creationTimestamp: '2020-01-01T00:00:00Z'\n  managedFields: []",
    );
    await read({ "red.yaml": printed });
    expect(problems()).toEqual([]);
    expect(specOf()).toMatchObject({ vni: 100 });
    expect(store.get(vnis, red).object.metadata.uid).toHaveLength(36);
    await read({ "red.yaml": printed.replace("vni: 100", "vni: 101").replace("55", "77") });
    expect(problems()).toEqual([]);
    expect(specOf()).toMatchObject({ vni: 101 });
  });

  test("are retried when they are not the cause", async () => {
    const create = vi.spyOn(store, "create");
    for (const fault of [conflict(vnis, "red", "someone was faster"), internalError("cannot write state: no space left on device")]) {
      create.mockImplementationOnce(() => {
        throw fault;
      });
      await read({ "red.yaml": vni(100) });
      expect(problems()).toEqual([`red.yaml:1:1: ${fault.message}; retrying`]);
      expect(store.find(vnis, red)).toBeUndefined();
      rmSync(join(root, "red.yaml"));
      await read();
    }
    const namespaces = kindNamed("Namespace");
    store.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "closing" } });
    store.delete(namespaces, { name: "closing" });
    await read({ "red.yaml": vni(100).replace("name: red", "name: red\n  namespace: closing") });
    expect(problems()[0]).toMatch(/because it is being terminated; retrying$/);
  });

  test("of an unknown kind have a problem with a suggestion", async () => {
    await read({
      "a.yaml": vni(1).replace("L3VNI", "L3vni"),
      "b.yaml": vni(1).replace("/v1alpha1", "/v9"),
      "c.yaml": vni(1).replace("L3VNI", "Odd"),
    });
    expect(problems()).toEqual([
      'a.yaml:2:1: no matches for kind "L3vni" in version "openpe.openperouter.github.io/v1alpha1"; did you mean L3VNI in openpe.openperouter.github.io/v1alpha1',
      'b.yaml:2:1: no matches for kind "L3VNI" in version "openpe.openperouter.github.io/v9"; did you mean L3VNI in openpe.openperouter.github.io/v1alpha1',
      'c.yaml:2:1: no matches for kind "Odd" in version "openpe.openperouter.github.io/v1alpha1"',
    ]);
  });

  test("are the same object with and without the namespace default", async () => {
    await read({ "a.yaml": vni(100), "b.yaml": vni(200).replace("name: red", "name: red\n  namespace: default") });
    expect(problems()).toEqual(["b.yaml:1:1: L3VNI default/red is already in a.yaml:1, which wins; remove one of them"]);
  });

  test("are recognized after a restart, without a write if nothing changed", async () => {
    await read({ "red.yaml": vni(100), "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n" });
    await directory.run(AbortSignal.abort());
    const { revision } = store;
    open();
    await read();
    expect(store.revision).toBe(revision);
    await directory.run(AbortSignal.abort());
    writeFileSync(join(root, "red.yaml"), "kind: [");
    rmSync(join(root, "map.yaml"));
    open();
    await read();
    expect(specOf()).toMatchObject({ vni: 100 });
    expect(store.find(maps, { name: "m", namespace: "default" })).toBeUndefined();
  });

  test("are created again when another client deletes them", async () => {
    await read({ "red.yaml": vni(100) });
    store.delete(vnis, red, { undeclared: true });
    expect(store.find(vnis, red)).toBeUndefined();
    const stopping = new AbortController();
    const running = directory.run(stopping.signal);
    await expect.poll(() => store.find(vnis, red) !== undefined, { timeout: 9_000 }).toBe(true);
    stopping.abort();
    await running;
  });
});

describe("an object that a user creates through the API", () => {
  test("has its own file, which follows the object and is deleted with it", async () => {
    await read();
    keeping.create(vnis, "default", l3vni("red"), "person", {});
    expect(applied()).toEqual(["l3vnis.default.red.yaml"]);
    expect(readFileSync(join(root, "applied/l3vnis.default.red.yaml"), "utf8")).toBe(
      "apiVersion: openpe.openperouter.github.io/v1alpha1\nkind: L3VNI\nmetadata:\n  name: red\n  namespace: default\nspec:\n  vrf: red\n  vni: 100\n",
    );
    const { revision } = store;
    await read();
    expect(store.revision).toBe(revision);
    expect(store.declarationOf(vnis, red)?.source).toEqual({ path: "applied/l3vnis.default.red.yaml", line: 1, applied: true });

    keeping.update(vnis, red, (stored) => ({ ...stored, spec: { vrf: "red", vni: 200 } }), "person", {});
    expect(readFileSync(join(root, "applied/l3vnis.default.red.yaml"), "utf8")).toContain("vni: 200");
    keeping.delete(vnis, red, {});
    expect(applied()).toEqual([]);
    await read();
    expect(store.find(vnis, red)).toBeUndefined();
    expect(problems()).toEqual([]);
  });

  test("is deleted with its file and follows edits of it", async () => {
    await read();
    keeping.create(vnis, "default", l3vni("red"), "person", {});
    await read({ "applied/l3vnis.default.red.yaml": vni(300) });
    expect(specOf()).toMatchObject({ vni: 300 });
    rmSync(join(root, "applied/l3vnis.default.red.yaml"));
    await read();
    expect(store.find(vnis, red)).toBeUndefined();
  });

  test("does not overwrite additions of a user to its file", async () => {
    await read();
    keeping.create(vnis, "default", l3vni("red"), "person", {});
    const both = `${vni(100)}---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n`;
    await read({ "applied/l3vnis.default.red.yaml": both });
    const rejection = { code: 403, message: "applied/l3vnis.default.red.yaml also contains other objects; change it there" };
    expect(faultOf(() => keeping.delete(vnis, red, {}))).toMatchObject(rejection);
    const edit = () => keeping.update(vnis, red, withMetadata({ labels: { a: "b" } }), "person", {});
    expect(faultOf(edit)).toMatchObject(rejection);
    expect(readFileSync(join(root, "applied/l3vnis.default.red.yaml"), "utf8")).toBe(both);
  });

  test("is changed in place when a user has moved its document", async () => {
    await read();
    keeping.create(vnis, "default", l3vni("red"), "person", {});
    rmSync(join(root, "applied/l3vnis.default.red.yaml"));
    await read({ "applied/mine.yaml": vni(100) });
    keeping.update(vnis, red, (stored) => ({ ...stored, spec: { vrf: "red", vni: 400 } }), "person", {});
    expect(applied()).toEqual(["mine.yaml"]);
    expect(readFileSync(join(root, "applied/mine.yaml"), "utf8")).toContain("vni: 400");
  });

  test("may have a name that is too long for a file name", async () => {
    await read();
    const name = "n".repeat(253);
    keeping.create(maps, "default", configMap(name), "person", {});
    await read();
    expect(store.find(maps, { name, namespace: "default" })).toBeDefined();
    expect(applied()).toHaveLength(1);
    expect(problems()).toEqual([]);
  });

  test("is rejected if its file cannot be written, and leaves nothing behind", async () => {
    await read();
    writeFileSync(join(root, "applied"), "in the way");
    const fault = faultOf(() => keeping.create(vnis, "default", l3vni("red"), "person", {}));
    expect(fault).toEqual({
      code: 500,
      reason: "InternalError",
      message: "Internal error occurred: applied/l3vnis.default.red.yaml cannot be written: file already exists",
    });
    expect(store.find(vnis, red)).toBeUndefined();
    expect(existsSync(join(root, "applied/l3vnis.default.red.yaml"))).toBe(false);
  });
});

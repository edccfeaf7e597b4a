import { beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import { applyManifest, removeManifest } from "../../embedded/store/apply-manifest.ts";
import { CORE_KINDS } from "../../embedded/kinds/core-kinds.ts";
import { customKind, type ServedKind } from "../../embedded/kinds/served-kind.ts";
import { Store } from "../../embedded/store/store.ts";
import { ObjectTable, type RowChange, changedFields } from "./object-table.ts";

let store: Store;
let changes: RowChange[];
let board: ObjectTable;

beforeEach(() => {
  store = new Store([...CORE_KINDS, ...CUSTOM_KINDS.map(customKind)]);
  store.create(kind("v1", "Namespace"), undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });
  changes = [];
  board = new ObjectTable(store, (change) => changes.push(change));
});

function kind(apiVersion: string, name: string): ServedKind {
  const found = store.kindOf(apiVersion, name);
  if (!found) throw new Error(`${name} is not served`);
  return found;
}

const red = { name: "red", namespace: "default" };
function l3vni(vni: number, labels: Record<string, string> = {}): KubeObject & { spec: object } {
  return { apiVersion: "openpe.openperouter.github.io/v1alpha1", kind: "L3VNI", metadata: { ...red, labels }, spec: { vrf: "red", vni } };
}

function configMap(name: string) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } };
}

function ready(status: string, lastTransitionTime: string): object {
  return { conditions: [{ type: "Ready", status, reason: "R", message: "", lastTransitionTime }] };
}

const L3VNI = () => kind("openpe.openperouter.github.io/v1alpha1", "L3VNI");

function apply(object: KubeObject, line = 1): void {
  applyManifest(store, object, { path: "red.yaml", line });
}

const changeTexts = () =>
  changes.map(({ type, row, fields }) =>
    `${type} ${row.name} ${fields.map(({ field, from, to }) => `${field}:${String(from)}→${String(to)}`).join(" ")}`.trim(),
  );

test("an added, changed and removed object of a file is reported with its changed fields", () => {
  apply(l3vni(100));
  apply(l3vni(101, { tenant: "a" }));
  apply(l3vni(101, { tenant: "a" }), 7);
  expect(board.rows().map((row) => [row.name, row.source()])).toEqual([["red", { path: "red.yaml", line: 7 }]]);
  removeManifest(store, L3VNI(), red);
  expect(changeTexts()).toEqual(["added red", "changed red spec.vni:100→101 metadata.labels.tenant:undefined→a", "deleted red"]);
  expect(board.rows()).toEqual([]);
});

test("a condition that changes is a change, and its time is shown", () => {
  const status = { metadata: { name: "n1", namespace: "default" } };
  const reports = kind("openpe.openperouter.github.io/v1alpha1", "RouterNodeConfigurationStatus");
  store.create(reports, "default", { apiVersion: "openpe.openperouter.github.io/v1alpha1", kind: reports.kind, ...status });
  for (const [reason, time] of [
    ["True", "2999-01-01T00:00:00Z"],
    ["True", "2999-01-01T00:00:00Z"],
    ["Unknown", "2999-01-02T00:00:00Z"],
  ] as const) {
    store.update(reports, status.metadata, (stored) => ({ ...stored, status: ready(reason, time) }), { half: "status", patch: true });
  }
  expect(changes.map(({ type, row, conditionsTurned }) => [type, row.conditions, conditionsTurned])).toEqual([
    ["added", [], false],
    ["changed", [{ type: "Ready", status: "True" }], true],
    ["changed", [{ type: "Ready", status: "Unknown" }], true],
  ]);
  expect(board.rows()[0]?.since).toBe("2999-01-02T00:00:00Z");
});

test("only objects of files are shown for other kinds, and existing ones are not reported", () => {
  store.create(kind("v1", "ConfigMap"), "default", configMap("programs"));
  apply(configMap("mine"));
  expect(changeTexts()).toEqual(["added mine"]);
  const later = new ObjectTable(store, () => undefined);
  expect(later.rows().map(({ name }) => name)).toEqual(["mine"]);
});

const before = { kind: "X", metadata: { name: "a", resourceVersion: "1" }, spec: { a: 1, list: [1], password: "p" }, status: { x: 1 } };

test("user fields are compared one by one, and lists as one value", () => {
  const after = { kind: "X", metadata: { name: "a", resourceVersion: "2" }, spec: { a: 2, list: [1, 2], password: "p" }, status: { x: 2 } };
  expect(changedFields(before, after)).toEqual([
    { field: "spec.a", from: 1, to: 2 },
    { field: "spec.list", from: [1], to: [1, 2] },
  ]);
});

test("secret fields are named but not shown", () => {
  const after = { ...before, spec: { ...before.spec, password: "q" } };
  expect(changedFields(before, after)).toEqual([{ field: "spec.password", from: "(hidden)", to: "(hidden)" }]);
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } };
  expect(changedFields({ ...secret }, { ...secret, data: { a: "eA==" } } as typeof secret)).toEqual([
    { field: "data", from: undefined, to: "(hidden)" },
  ]);
});

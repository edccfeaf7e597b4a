import { expect, test } from "vitest";
import { patchToward, applyErrors } from "./apply-one.ts";
import { KubeError } from "../../kube/client/error.ts";

test("a patch sets all wanted fields and removes those of the previous manifest only", () => {
  const before = { spec: { vni: 100, session: { asn: 1, note: "x" }, old: [1] }, gone: { a: 1 } };
  const wanted = { spec: { vni: 100, session: { asn: 2 }, list: [1, 2] } };
  expect(patchToward(before, wanted)).toEqual({
    gone: null,
    spec: { old: null, vni: 100, session: { note: null, asn: 2 }, list: [1, 2] },
  });
});

test("each field error of the server is one error, and general causes are left out", () => {
  const causes = [
    { reason: "FieldValueInvalid", field: "spec.vni", message: "Invalid value: 0: spec.vni in body should be greater than or equal to 1" },
    { reason: "FieldValueInvalid", field: "<nil>", message: "Invalid value: null: some validation rules were not checked" },
  ];
  expect(applyErrors(new KubeError("Invalid", "is invalid", { details: { causes } }))).toEqual([
    { field: "spec.vni", sentence: "spec.vni: Invalid value: 0: spec.vni in body should be greater than or equal to 1" },
  ]);
});

test("a conflict names the manager of the field and both solutions", () => {
  const causes = [{ reason: "FieldManagerConflict", field: ".spec.vni", message: 'conflict with "kubectl-edit" using v1alpha1' }];
  expect(applyErrors(new KubeError("Conflict", "Apply failed with 1 conflict", { details: { causes } }))).toEqual([
    {
      field: "spec.vni",
      sentence: "spec.vni is owned by kubectl-edit: use --force-conflicts, or remove it from the manifest",
    },
  ]);
});

test.for([
  [
    "server-side apply",
    "ServerError",
    "failed to create typed patch object (a/b; g/v1, Kind=L3VNI): .spec.vnii: field not declared in schema",
  ],
  [
    "a strict decoder",
    "BadRequest",
    'L3VNI in version "v1alpha1" cannot be handled as a L3VNI: strict decoding error: unknown field "spec.vnii"',
  ],
] as const)("an unknown field is reported, in the message of %s", ([, code, message]) => {
  expect(applyErrors(new KubeError(code, message))).toEqual([{ field: "spec.vnii", sentence: "spec.vnii: unknown field" }]);
});

test("a rejection without fields is printed unchanged", () => {
  expect(applyErrors(new KubeError("NotFound", 'namespaces "x" not found'))).toEqual([{ field: "", sentence: 'namespaces "x" not found' }]);
});

test("a failing or unreachable server has rejected nothing", () => {
  expect(applyErrors(new KubeError("ServerError", "etcd is gone"))).toBeUndefined();
  expect(applyErrors(new KubeError("Unreachable", "nobody there"))).toBeUndefined();
});

import { expect, test } from "vitest";
import { invalid, required } from "../../api/admission/field-error.ts";
import { ConfigMap } from "../../api/core/config-map.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { answer, parseReview, reviewOf, type AdmissionRequest } from "./review.ts";

const red = { metadata: { name: "red" } };
const request: AdmissionRequest = { uid: "1", operation: "CREATE", name: "red", object: red };
const body = (review: object) => JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", ...review });

test.each([
  ["The body is not JSON", "{"],
  ["The body is not an AdmissionReview of admission.k8s.io/v1", "null"],
  ["The body is not an AdmissionReview of admission.k8s.io/v1", "[]"],
  ["The body is not an AdmissionReview of admission.k8s.io/v1", body({ apiVersion: "admission.k8s.io/v1beta1", request })],
  ["The AdmissionReview has no request with uid and operation", body({})],
  ["The AdmissionReview has no request with uid and operation", body({ request: null })],
  ["The AdmissionReview has no request with uid and operation", body({ request: { uid: 1, operation: "CREATE" } })],
])("%s: %s", (message, text) => {
  expect(() => parseReview(text)).toThrow(message);
});

test("an AdmissionReview is parsed, and each operation has its objects", () => {
  expect(parseReview(body({ request }))).toEqual(request);
  expect(reviewOf(request)).toEqual({ operation: "CREATE", object: red });
  expect(reviewOf({ ...request, operation: "UPDATE", oldObject: red })).toEqual({ operation: "UPDATE", object: red, old: red });
  expect(reviewOf({ ...request, operation: "DELETE", object: null, oldObject: red })).toEqual({ operation: "DELETE", old: red });
  expect(() => reviewOf({ ...request, operation: "UPDATE" })).toThrow("The AdmissionReview of a UPDATE lacks its object");
  expect(() => reviewOf({ ...request, operation: "CREATE", object: null })).toThrow("The AdmissionReview of a CREATE lacks its object");
});

test("an object without errors is allowed, with one line per warning", () => {
  expect(answer(L3VNI, request, {}).response).toEqual({ uid: "1", allowed: true });
  expect(answer(L3VNI, request, { warnings: ["two\r\nlines", "x".repeat(300)] }).response).toEqual({
    uid: "1",
    allowed: true,
    warnings: ["two lines", "x".repeat(256)],
  });
});

test("all errors are listed, sorted by field, in the format of the API server", () => {
  const errors = [required("spec.vrf"), invalid("spec.vni", 0, "held by L2VNI blue")];
  const { response } = answer(L3VNI, request, { errors, warnings: ["and this"] });
  expect(response).toMatchObject({ uid: "1", allowed: false, warnings: ["and this"] });
  expect(response.status).toMatchObject({
    code: 422,
    reason: "Invalid",
    message:
      'L3VNI.openpe.openperouter.github.io "red" is invalid: [spec.vni: Invalid value: 0: held by L2VNI blue, spec.vrf: Required value]',
    details: { name: "red", kind: "L3VNI", causes: [{ field: "spec.vni", reason: "FieldValueInvalid" }, { field: "spec.vrf" }] },
  });
});

test("a single error has no brackets, and a core kind no group", () => {
  const { response } = answer(ConfigMap, request, { errors: [required("data.key")] });
  expect(response.status?.message).toBe('ConfigMap "red" is invalid: data.key: Required value');
});

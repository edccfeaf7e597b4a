import { rootCertificates } from "node:tls";
import { expect, test } from "vitest";
import { admit } from "../admission/validation.ts";
import { ConnectivityMesh } from "./connectivity-mesh.ts";
import { type Probe, probeText, readProbe } from "./probe.ts";

const whole: Probe = {
  type: "HTTPS",
  path: "/healthz?full=1",
  host: "shop.test",
  expect: { status: [200, 404], body: "ok" },
  followRedirects: true,
  tls: { caBundle: rootCertificates[0] ?? "", insecure: false },
};

test("a probe survives its annotation, whatever the order of its fields", () => {
  const text = probeText(whole) ?? "";
  expect(readProbe(text)).toEqual(whole);
  const { tls = {}, expect: expected = {}, ...rest } = whole;
  expect(probeText({ tls, expect: { body: "ok", status: [200, 404], ...expected }, ...rest })).toBe(text);
  expect(probeText({ type: "HTTP" })).toBe('{"type":"HTTP"}');
});

test("a plain connection has no annotation, one from the router has", () => {
  expect(probeText({ type: "TCP" })).toBeUndefined();
  expect(probeText({ vrf: "red", from: "Router", type: "TCP" })).toBe('{"type":"TCP","from":"Router","vrf":"red"}');
});

test.each<[string, string]>([
  ["http", "not JSON"],
  ["[]", 'Invalid value: "array": spec in body must be of type object: "array"'],
  ["{}", "type: Required value"],
  ['{"type":"HTTP","pfad":"/"}', "unknown field pfad"],
  ['{"type":"HTTP","path":"healthz"}', `path: Invalid value: "healthz": path in body should match '^/[!-"$-~]*$'`],
  ['{"type":"HTTP","path":"/a b"}', `path: Invalid value: "/a b": path in body should match '^/[!-"$-~]*$'`],
  ['{"type":"HTTP","host":"a\\r\\nCookie: b"}', expect.stringContaining("host: Invalid value") as string],
  ['{"type":"HTTP","expect":{"status":[99]}}', expect.stringContaining("expect.status[0]: Invalid value: 99") as string],
  ['{"type":"TCP","path":"/"}', "Invalid value: path, host, expect and followRedirects need type HTTP or HTTPS"],
  ['{"type":"HTTP","tls":{"insecure":true}}', "Invalid value: tls needs type HTTPS"],
  ['{"type":"HTTP","from":"Router"}', "Invalid value: from needs type TCP"],
  ['{"type":"TCP","vrf":"red"}', "Invalid value: vrf needs from: Router"],
  ['{"type":"TCP","from":"Switch"}', 'from: Unsupported value: "Switch": supported values: "Router"'],
  ['{"type":"HTTPS","tls":{"insecure":true,"caBundle":"PEM"}}', expect.stringContaining("caBundle has no effect with insecure") as string],
  ['{"type":"HTTPS","tls":{"caBundle":"PEM"}}', "tls.caBundle: not a certificate in PEM"],
])("%s is not a probe", (text, problem) => {
  expect(readProbe(text)).toEqual({ problem });
});

const mesh = (probe: object) => ({
  metadata: { name: "m", namespace: "shop" },
  spec: { sources: { pods: { selector: {} } }, targets: [{ host: "a:1", probe }] },
});

test("a mesh accepts a probe beside its target, and rejects what an annotation must not have", () => {
  expect(admit(ConnectivityMesh, mesh(whole)).errors).toEqual([]);
  expect(admit(ConnectivityMesh, mesh({ type: "HTTP", tls: {} })).errors).toMatchObject([{ field: "spec.targets[0].probe" }]);
});

import { expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { contentInputs } from "../manifests/input.ts";
import { lint, type LintResult } from "./lint.ts";
import type { LintRule } from "./rules.ts";

function verdict(text: string, rules: readonly LintRule[] = []): LintResult {
  return lint(contentInputs("a.yaml", Buffer.from(text)), {}, rules);
}

const l3vni = (
  spec: string,
  metadata = "{ name: red, namespace: openperouter-system }",
) => `apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3VNI
metadata: ${metadata}
spec:
${spec}`;

const good = l3vni("  vrf: red\n  vni: 100\n");

function failures(text: string): string[] {
  return verdict(text).failures.map(({ line, reason, field, message }) => `${line} ${reason} ${field}: ${message}`);
}

test("a valid manifest passes, also in the output format of a server", () => {
  expect(verdict(good)).toEqual({ failures: [], warnings: [] });
  expect(
    failures(l3vni("  vrf: red\n  vni: 100\n", "{ name: red, uid: u, resourceVersion: '7', creationTimestamp: 2026-01-01T00:00:00Z }")),
  ).toEqual([]);
});

test("a status is ignored, since no server accepts one from a manifest", () => {
  const pool = "apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: { name: edge }\nspec: { addresses: [192.0.2.0/24] }\n";
  expect(failures(`${pool}status: { assignedIPv4: 1, availableIPv4: 255 }\n`)).toEqual([]);
});

function node(metadata: string): string {
  return `apiVersion: v1\nkind: Node\nmetadata: ${metadata}\n`;
}

test("a cluster-scoped object must not have a namespace", () => {
  expect(failures(node("{ name: n1 }"))).toEqual([]);
  expect(failures(node("{ name: n1, namespace: default }"))).toEqual([
    "3 ValidationFailed metadata.namespace: Forbidden: not allowed on this type",
  ]);
});

test("each invalid field is reported with its line, in the server's message", () => {
  expect(failures(l3vni("  vrf: red\n  vni: 0\n  vxlanport: http\n"))).toEqual([
    "6 ValidationFailed spec.vni: Invalid value: 0: spec.vni in body should be greater than or equal to 1",
    '7 ValidationFailed spec.vxlanport: Invalid value: "string": spec.vxlanport in body must be of type integer: "string"',
  ]);
  expect(failures(l3vni("  vni: 5\n"))).toEqual(["4 ValidationFailed spec.vrf: Required value"]);
});

test("rules of the kind are evaluated", () => {
  const spec = "  vrf: red\n  vni: 5\n  hostsession:\n    asn: 1\n    hostasn: 1\n    localcidr: { ipv4: 192.0.2.0/24 }\n";
  expect(failures(l3vni(spec))).toEqual([expect.stringMatching(/^7 ValidationFailed spec\.hostsession: .*hostasn must differ from asn$/)]);
});

test("an invalid name is reported", () => {
  expect(failures(l3vni("  vrf: red\n  vni: 5\n", "{ name: Red_1 }"))).toEqual([
    expect.stringMatching(/^3 ValidationFailed metadata\.name: Invalid value: "Red_1": a lowercase RFC 1123 subdomain must consist of/),
  ]);
});

test("an unknown field is reported with the nearest one, together with other problems", () => {
  expect(failures(l3vni("  vrf: red\n  vnii: 5\n  vni: 0\n"))).toEqual([
    "6 UnknownField spec.vnii: unknown field of L3VNI (Did you mean vni?)",
    "7 ValidationFailed spec.vni: Invalid value: 0: spec.vni in body should be greater than or equal to 1",
  ]);
});

test("an unknown kind gets the nearest one as a hint, and a known one its versions", () => {
  expect(failures("apiVersion: v1\nkind: ConfigMop\nmetadata: { name: a }\n")).toEqual([
    "2 UnknownKind kind: unknown kind ConfigMop (Did you mean ConfigMap?)",
  ]);
  expect(failures(good.replace("v1alpha1", "v1"))).toEqual([
    "1 UnknownKind apiVersion: L3VNI is not in apiVersion openpe.openperouter.github.io/v1, only in openpe.openperouter.github.io/v1alpha1",
  ]);
});

test("a parse error is reported with its line, and the rest is validated", () => {
  expect(failures(`a: [\n---\n${l3vni("  vrf: red\n  vni: 0\n")}`)).toEqual([
    expect.stringMatching(/^2 ParseFailed : Flow sequence/),
    expect.stringMatching(/^8 ValidationFailed spec\.vni/),
  ]);
});

test("a duplicate object is a failure", () => {
  const received: unknown[] = [];
  const { failures: found } = verdict(`${good}---\n${good}`, [(objects) => (received.push(...objects), [])]);
  expect(found).toMatchObject([
    { line: 10, reason: "Duplicate", field: "metadata.name", message: "also defined in a.yaml:1: remove one of them" },
  ]);
  expect(received).toHaveLength(1);
});

test("rules of a domain get valid objects with defaults, and their failures have lines", () => {
  const received: unknown[] = [];
  const rule: LintRule = (objects) => {
    received.push(...objects.map((object) => (object as KubeObject & { spec: unknown }).spec));
    return [
      {
        kind: "L3VNI",
        name: "red",
        namespace: "openperouter-system",
        reason: "ValidationFailed",
        field: "spec.vni",
        message: "VNI 100 is held by L2VNI blue",
        class: "Transient",
      },
    ];
  };
  expect(verdict(`${l3vni("  vrf: x\n  vni: 0\n", "{ name: bad }")}---\n${good}`, [rule]).failures.at(-1)).toEqual({
    kind: "L3VNI",
    name: "red",
    namespace: "openperouter-system",
    reason: "ValidationFailed",
    field: "spec.vni",
    message: "VNI 100 is held by L2VNI blue",
    class: "Transient",
    file: "a.yaml",
    line: 13,
  });
  expect(received).toEqual([{ vrf: "red", vni: 100, vxlanport: 4789 }]);
});

const warner = () => [{ kind: "L3VNI", name: "red", namespace: "openperouter-system", field: "spec.vni", message: "VNI 100 is round" }];

test("a likely mistake is a warning with its position, and no failure", () => {
  expect(lint(contentInputs("a.yaml", Buffer.from(good)), {}, [], [warner])).toEqual({
    failures: [],
    warnings: ["a.yaml:6: VNI 100 is round"],
  });
});

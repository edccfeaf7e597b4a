import { expect, test } from "vitest";
import { SampleKind } from "../../../test/api/fixtures.ts";
import { defineKind, type CustomKind } from "../define-kind.ts";
import { NetworkUnderlay } from "../network/underlay.ts";
import { L3VNI } from "../openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../openpe/router-node-configuration-status.ts";
import { rule } from "../rule.ts";
import { s } from "../schema.ts";
import { admit, type WriteContext } from "./validation.ts";

/** The errors as a person reads them. */
function problems(kind: CustomKind, parts: object, write: WriteContext = {}): string[] {
  const { errors } = admit(kind, { metadata: { name: "a" }, ...parts }, write);
  return errors.map(({ field, message }) => `${field}: ${message}`);
}

const unchecked =
  "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
const immutable = "spec.hostsession.localcidr: Invalid value: localcidr is immutable; delete and recreate the object to change it";
const vni = { vrf: "red", vni: 100 };
const hostsession = { asn: 64_514, hostasn: 64_515, localcidr: { ipv4: "192.0.2.0/24" } };

test.each<[CustomKind, object]>([
  [L3VNI, { ...vni, hostsession }],
  [L3VNI, { vrf: "abcdefghijklmno", vni: 16_777_215, vxlanport: 65_535 }],
  [L3VNI, { vrf: "a", vni: 1, vxlanport: 1, hostsession: { ...hostsession, asn: 1, hostasn: 4_294_967_295 } }],
  [SampleKind, { name: "éééééééé", labels: { a: "", b: "", c: "" }, tags: ["a", "b", "c"] }],
])("a valid object has no errors, also at the bounds: %o %j", (kind, spec) => {
  expect(problems(kind, { spec })).toEqual([]);
});

test.each<[object, string[]]>([
  [{ ...vni, vni: 0 }, ["spec.vni: Invalid value: 0: spec.vni in body should be greater than or equal to 1"]],
  [{ ...vni, vni: 16_777_216 }, ["spec.vni: Invalid value: 16777216: spec.vni in body should be less than or equal to 16777215"]],
  [{ vni: 100 }, ["spec.vrf: Required value", unchecked]],
  [{ ...vni, vrf: "1red" }, ["spec.vrf: Invalid value: \"1red\": spec.vrf in body should match '^[a-zA-Z][a-zA-Z0-9_-]*$'"]],
  [{ ...vni, vrf: "abcdefghijklmnop" }, ["spec.vrf: Too long: may not be more than 15 bytes", unchecked]],
  [{ ...vni, vrf: 5 }, ['spec.vrf: Invalid value: "integer": spec.vrf in body must be of type string: "integer"', unchecked]],
  [{ ...vni, vni: "100" }, ['spec.vni: Invalid value: "string": spec.vni in body must be of type integer: "string"', unchecked]],
  [{ ...vni, vni: true }, ['spec.vni: Invalid value: "": spec.vni in body must be of type int32: ""', unchecked]],
  [
    { ...vni, vni: 1.5 },
    [
      'spec.vni: Invalid value: "float64": spec.vni in body must be of type int32: "float64"',
      '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.vni',
      unchecked,
    ],
  ],
  [
    { ...vni, importRTs: [null] },
    ['spec.importRTs[0]: Invalid value: "null": spec.importRTs[0] in body must be of type string: "null"', unchecked],
  ],
  [
    { ...vni, importRTs: Array.from({ length: 101 }, () => "1:1") },
    ["spec.importRTs: Too many: 101: must have at most 100 items", unchecked],
  ],
  [
    { ...vni, nodeSelector: { matchLabels: { zone: 5 } } },
    [
      'spec.nodeSelector.matchLabels.zone: Invalid value: "integer": spec.nodeSelector.matchLabels.zone in body must be of type string: "integer"',
      unchecked,
    ],
  ],
  [{ ...vni, hostsession: { ...hostsession, hostasn: 64_514 } }, ["spec.hostsession: Invalid value: hostasn must differ from asn"]],
  [
    { ...vni, vni: 0, hostsession: { ...hostsession, hostasn: 64_514 } },
    [
      "spec.vni: Invalid value: 0: spec.vni in body should be greater than or equal to 1",
      "spec.hostsession: Invalid value: hostasn must differ from asn",
    ],
  ],
])("L3VNI spec %j is rejected with the server's message", (spec, expected) => {
  expect(problems(L3VNI, { spec })).toEqual(expected);
});

test("a transition rule is evaluated only with an old value", () => {
  const other = { ...hostsession, localcidr: { ipv4: "198.51.100.0/24" } };
  const old = { spec: { ...vni, hostsession } };
  expect(problems(L3VNI, { spec: { ...vni, hostsession: other } })).toEqual([]);
  const added = "spec: Invalid value: hostsession cannot be added or removed; delete and recreate the object to change it";
  expect(problems(L3VNI, { spec: { ...vni, hostsession: other } }, { old: { spec: vni } })).toEqual([added]);
  expect(problems(L3VNI, { spec: { ...vni, hostsession: other } }, { old })).toEqual([immutable]);
  const wider = { ...hostsession, localcidr: { ...hostsession.localcidr, ipv6: "2001:db8::/64" } };
  expect(problems(L3VNI, { spec: { ...vni, hostsession: wider } }, { old })).toEqual([immutable]);
});

const ready = { type: "Ready", status: "True", reason: "Fine", message: "", lastTransitionTime: "2026-11-15T10:30:00Z" };

test.each<[object, string[]]>([
  [{ conditions: [ready, { ...ready, status: "False" }] }, ['status.conditions[1]: Duplicate value: {"type":"Ready"}']],
  [
    { conditions: [{ ...ready, status: "Maybe" }] },
    ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"'],
  ],
  [
    { conditions: [{ ...ready, reason: "" }] },
    ['status.conditions[0].reason: Invalid value: "": conditions[0].reason in body should be at least 1 chars long'],
  ],
  [
    { lastUpdateTime: "yesterday" },
    ['status.lastUpdateTime: Invalid value: "yesterday": lastUpdateTime in body must be of type date-time: "yesterday"'],
  ],
  [
    {
      sessions: [
        { neighbor: "10.0.0.1", state: "Idle" },
        { neighbor: "10.0.0.1", vrf: "default", state: "Idle" },
      ],
    },
    ['status.sessions[1]: Duplicate value: {"neighbor":"10.0.0.1","vrf":"default"}'],
  ],
  [{ failedResources: [{ kind: "L3VNI", name: "a" }] }, ["status.failedResources[0].reason: Required value"]],
])("status %j is rejected with the server's message", (status, expected) => {
  expect(problems(RouterNodeConfigurationStatus, { status }, { old: { metadata: {} }, subresource: "status" })).toEqual(expected);
});

test.each<[object, string[]]>([
  [{ count: 4 }, ["spec.count: Invalid value: 4: not four"]],
  [{ buckets: { b: { size: 3 } } }, ["spec.buckets[b].size: Invalid value: size must be even"]],
  [{ choice: { type: "a", b: true } }, ["spec.choice.a: Required value: a is needed"]],
  [{ choice: { type: "b", a: true, b: true } }, ["spec.choice: Forbidden: one of a and b"]],
  [{ name: "none" }, ['spec.name: Duplicate value: "none"']],
  [{ tags: ["a", "b", "a"] }, ['spec.tags[2]: Duplicate value: "a"']],
  [{ tags: ["a", "a", "a"] }, ['spec.tags[1]: Duplicate value: "a"']],
  [{ ports: [] }, ["spec.ports: Invalid value: 0: spec.ports in body should have at least 1 items"]],
  [{ labels: { a: "", b: "", c: "", d: "" } }, ["spec.labels: Too many: 4: must have at most 3 items", unchecked]],
  [{ hold: "soon" }, [expect.stringMatching(/^spec.hold: Invalid value: "soon": spec.hold in body should match /) as string]],
])("a broken rule or bound names its field: %j", (part, expected) => {
  expect(problems(SampleKind, { spec: { name: "ab", ...part } })).toEqual(expected);
});

test.each(["0", "1h30m", "-1.5s", ".5ms", "+2us", "3µs"])("%s is a duration", (hold) => {
  expect(problems(SampleKind, { spec: { name: "ab", hold } })).toEqual([]);
});

test.each(["", "1", "1d", "h", "1h 30m", "1m-1s", "."])("%j is not a duration", (hold) => {
  expect(problems(SampleKind, { spec: { name: "ab", hold } })).toHaveLength(1);
});

const port = (name: string, weight: number, protocol = "TCP") => ({ name, number: 1, weight, protocol });

test("an item is compared with the old item of the same keys, at any position", () => {
  const old = { spec: { name: "ab", ports: [port("a", 1), port("b", 5)] } };
  const update = (...ports: object[]) => problems(SampleKind, { spec: { name: "ab", ports } }, { old });
  expect(update(port("b", 5), port("a", 1))).toEqual([]);
  expect(update(port("b", 6), port("a", 1))).toEqual(["spec.ports[0]: Invalid value: weight only falls"]);
  expect(update(port("b", 6, "UDP"))).toEqual([]);
});

test("an update is rejected for changed invalid fields, and not for unchanged ones", () => {
  const old = { metadata: {}, spec: { name: "ab", count: 9, tags: ["toolong"], labels: { a: "toolong", b: "x" } } };
  const update = (part: object) => problems(SampleKind, { spec: { ...old.spec, ...part } }, { old });
  expect(update({ mode: "off" })).toEqual([]);
  expect(update({ count: 8 })).toEqual(["spec.count: Invalid value: 8: spec.count in body should be less than or equal to 5"]);
  expect(update({ labels: { a: "toolong", b: "y" } })).toEqual([]);
  expect(update({ tags: ["toolong", "b"] })).toEqual(["spec.tags[0]: Too long: may not be more than 4 bytes", unchecked]);
});

test("a list or object with a removed item counts as changed", () => {
  const ports = ["a", "b", "c", "d", "e", "f"].map((name) => port(name, 1));
  const old = { metadata: {}, spec: { name: "ab", ports, choice: { a: true, b: true } } };
  const update = (part: object) => problems(SampleKind, { spec: { ...old.spec, ...part } }, { old });
  expect(update({ ports: ports.slice(1) })).toEqual(["spec.ports: Too many: 5: must have at most 4 items", unchecked]);
  expect(update({ choice: { a: true } })).toEqual(["spec.choice.type: Required value", unchecked]);
});

test("a rule that was already violated is ignored while its value is unchanged", () => {
  const old = { metadata: {}, spec: { name: "ab", count: 4, buckets: { b: { size: 3 } }, matrix: [[4]] } };
  const update = (part: object) => problems(SampleKind, { spec: { ...old.spec, ...part } }, { old });
  expect(update({ mode: "off" })).toEqual([]);
  expect(update({ buckets: { b: { size: 3 }, c: { size: 4 } } })).toEqual([]);
  expect(update({ buckets: { b: { size: 5 } } })).toEqual(["spec.buckets[b].size: Invalid value: size must be even"]);
  expect(update({ matrix: [[4], []] })).toEqual(["spec.matrix[0][0]: Invalid value: 4: no four here"]);
});

test("a list instead of a time is accepted, as by the server", () => {
  expect(problems(SampleKind, { status: { observed: [] } }, { old: { spec: { name: "ab" } }, subresource: "status" })).toEqual([]);
});

test("duplicates that existed before are accepted", () => {
  const old = { metadata: {}, spec: { name: "ab", tags: ["a", "a"] } };
  expect(problems(SampleKind, { spec: { name: "ab", tags: ["a", "a", "b"] } }, { old })).toEqual([]);
});

test("a rule that fails on an accepted old error rejects instead of throwing", () => {
  const pair = s.object(
    { inner: s.object({ size: s.int({ doc: "A size." }) }, { doc: "The inner one." }) },
    {
      doc: "A pair.",
      rules: [
        rule({
          cel: "self.inner.size >= oldSelf.inner.size",
          message: "size only grows",
          transition: (self, old) => self.inner.size >= old.inner.size,
        }),
      ],
    },
  );
  const spec = s.object({ pair, lit: s.optional(s.bool({ doc: "Lit?" })) }, { doc: "What is wanted." });
  const Pair = defineKind({ group: "x.example", version: "v1", kind: "Pair", plural: "pairs", scope: "Cluster", doc: "A pair.", spec });
  expect(problems(Pair, { spec: { pair: {}, lit: true } }, { old: { spec: { pair: {} } } })).toEqual([
    "spec.pair: Invalid value: size only grows",
  ]);
});

test.each([
  { type: "NetworkDevice" },
  { type: "CNIDevice" },
  { type: "NetworkDevice", cniDevice: { type: "RawConfig", rawConfig: {} } },
  {
    type: "NetworkDevice",
    networkDevice: { interfaceName: "eth1" },
    cniDevice: { type: "RawConfig", rawConfig: {} },
  },
])("an interface of an Underlay has the field of its type and no other: %j", (one) => {
  const spec = { asn: 64_514, neighbors: [{ asn: 64_512, address: "192.0.2.1" }], interfaces: [one] };
  expect(problems(NetworkUnderlay, { spec }).map((problem) => problem.split(": ").at(-1))).toEqual([
    "type NetworkDevice allows only networkDevice, type CNIDevice only cniDevice",
  ]);
});

test("an interface of an Underlay with the field of its type is valid", () => {
  const interfaces = [{ type: "NetworkDevice", networkDevice: { interfaceName: "eth1" } }];
  expect(problems(NetworkUnderlay, { spec: { asn: 64_514, neighbors: [{ asn: 64_512, address: "192.0.2.1" }], interfaces } })).toEqual([]);
});

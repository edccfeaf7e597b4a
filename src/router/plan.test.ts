import { expect, test } from "vitest";
import type { LastGoodResource } from "./model/rendered.ts";
import type { ObservedNode, RouterObjects } from "./model/observed.ts";
import { plan, type RouterPlan } from "./plan.ts";
import { hostSession, l2vni, l3vni, linkNames, observed, passthrough, rawConfig, underlay } from "./testing/fixtures.ts";

const failures = ({ failures }: Pick<RouterPlan, "failures">) =>
  failures.map(({ kind, name, reason, field, message }) => `${kind}/${name} ${reason} ${field}: ${message}`);
const steps = ({ steps }: RouterPlan) => steps.map(({ owner, state }) => (state === "kept" ? `${owner} kept` : owner));

/** The last good forms that a node has once everything of these objects is live on it. */
function goodOf(objects: Partial<RouterObjects>): Map<string, LastGoodResource> {
  const { underlay, steps } = plan(observed(objects));
  return new Map(
    [...(underlay ? [underlay] : []), ...steps].map(({ owner, uid, generation, spec, rendered }) => [
      owner,
      { uid, generation, spec, rendered },
    ]),
  );
}

function replan(before: Partial<RouterObjects>, after: Partial<RouterObjects>, rest: Partial<ObservedNode> = {}): RouterPlan {
  return plan(observed(after, { lastGood: goodOf(before), ...rest }));
}

const base = { underlays: [underlay()] };
const linuxBridge = (name: string) => ({ type: "linux-bridge" as const, linuxBridge: { name, autoCreate: false } });

test("a node that no resource selects has an empty plan", () => {
  expect(plan(observed({}))).toEqual({ underlay: undefined, steps: [], failures: [], selected: [] });
});

test("an Underlay is a step with the interface, the VTEP and FRR's default instance", () => {
  const { underlay: step, failures: none, selected } = plan(observed(base, { index: 3 }));
  expect(none).toEqual([]);
  expect(selected).toEqual([{ kind: "Underlay", name: "fabric", generation: 1 }]);
  expect(step?.rendered.links).toEqual([
    { type: "nic", netns: "router", name: "eth1", owner: "Underlay/fabric" },
    { type: "dummy", netns: "router", name: "lound", owner: "Underlay/fabric", addresses: ["100.65.0.3/32"] },
  ]);
  expect(step?.rendered.fragment.lines[0]?.line).toBe("router bgp 64514");
});

test("the partial failure of the specification is reported literally", () => {
  const planned = plan(
    observed({
      ...base,
      l2vnis: [
        l2vni("tenant-network-a", { vrf: "tenant", vni: 300, hostmaster: linuxBridge("eth2") }),
        l2vni("tenant-network-b", { vrf: "tenant", vni: 100 }),
        l2vni("fine", { vni: 400 }),
      ],
      l3vnis: [l3vni("production-l3", { vrf: "production", vni: 100, hostsession: hostSession() })],
    }),
  );
  expect(failures(planned)).toEqual([
    "L2VNI/tenant-network-a ValidationFailed spec.hostmaster.linuxBridge.name: Interface eth2 not present on node",
    "L2VNI/tenant-network-b ValidationFailed spec.vni: VNI 100 conflicts with L3VNI production-l3",
  ]);
  expect(steps(planned)).toEqual(["L3VNI/production-l3", "L2VNI/fine"]);
});

test("an Underlay that fails stops the plan, without failures of the other resources", () => {
  const planned = plan(observed({ underlays: [underlay("production-underlay", { nics: ["eth7"] })], l2vnis: [l2vni("red", { vni: 0 })] }));
  expect(planned).toMatchObject({ underlay: undefined, steps: [], stopped: { kind: "Underlay", name: "production-underlay" } });
  expect(failures(planned)).toEqual(["Underlay/production-underlay ValidationFailed spec.nics[0]: Interface eth7 not present on node"]);
  expect(planned.skipped?.map(({ kind, name, reason }) => [kind, name, reason])).toEqual([["L2VNI", "red", "ValidationFailed"]]);
});

test("an invalid edit of a good Underlay stops the plan too", () => {
  const planned = replan(base, { underlays: [underlay("fabric", { asn: 0 }, { generation: 2 })] });
  expect(planned).toMatchObject({ underlay: undefined, steps: [], stopped: { field: "spec.asn" } });
});

test("of two Underlays the older wins, and the failure of the other names it", () => {
  const planned = plan(
    observed({ underlays: [underlay("b", {}, { hour: 1 }), underlay("a", { asn: 1 }, { hour: 2 })], l2vnis: [l2vni("red", { vni: 1 })] }),
  );
  expect(planned.stopped).toBeUndefined();
  expect(planned.underlay?.owner).toBe("Underlay/b");
  expect(failures(planned)).toEqual([
    "Underlay/a ValidationFailed spec.nodeSelector: A second Underlay on the node conflicts with Underlay b",
  ]);
  expect(steps(planned)).toEqual(["L2VNI/red"]);
});

test("without an Underlay, or with one without EVPN, every VNI fails with the missing dependency", () => {
  const vnis = { l2vnis: [l2vni("a", { vni: 1 })], l3vnis: [l3vni("b", { vrf: "a", vni: 2 })] };
  expect(failures(plan(observed(vnis)))).toEqual([
    "L2VNI/a DependencyFailed : No Underlay selects this node",
    "L3VNI/b DependencyFailed : No Underlay selects this node",
  ]);
  const spec = underlay().spec;
  delete spec.evpn;
  const plain = { ...underlay(), spec };
  const planned = plan(observed({ underlays: [plain], ...vnis, passthroughs: [passthrough("p")] }));
  expect(failures(planned)).toEqual([
    "L2VNI/a DependencyFailed : Underlay fabric has no spec.evpn",
    "L3VNI/b DependencyFailed : Underlay fabric has no spec.evpn",
  ]);
  expect(steps(planned)).toEqual(["L3Passthrough/p"]);
});

test("a selector decides about this node, and an invalid one affects only its own resource", () => {
  const elsewhere = { nodeSelector: { matchLabels: { rack: "b" } } };
  const unusable = { nodeSelector: { matchExpressions: [{ key: "rack", operator: "In" }] } };
  const planned = plan(
    observed({ ...base, l2vnis: [l2vni("a", { vni: 1, ...elsewhere }), l2vni("b", { vni: 2, ...unusable }), l2vni("c", { vni: 3 })] }),
  );
  expect(steps(planned)).toEqual(["L2VNI/c"]);
  expect(failures(planned)).toEqual([
    "L2VNI/b ValidationFailed spec.nodeSelector.matchExpressions[0].values: nodeSelector: operator In requires values",
  ]);
  expect(planned.selected.map(({ name }) => name)).toEqual(["fabric", "b", "c"]);
});

test("a resource with a deletion timestamp claims nothing", () => {
  const going = l2vni("a", { vni: 1 });
  going.metadata.deletionTimestamp = "2026-01-01T12:00:00Z";
  expect(plan(observed({ ...base, l2vnis: [going] })).selected).toHaveLength(1);
});

test.each<[string, Partial<RouterObjects>, string]>([
  [
    "V3 a VNI of two L3VNIs",
    { l3vnis: [l3vni("a", { vrf: "a", vni: 1, hostsession: hostSession() }), l3vni("b", { vrf: "b", vni: 1 }, { hour: 1 })] },
    "L3VNI/b ValidationFailed spec.vni: VNI 1 conflicts with L3VNI a",
  ],
  [
    "V4 a VNI of two L2VNIs",
    { l2vnis: [l2vni("a", { vni: 1 }), l2vni("b", { vni: 1 }, { hour: 1 })] },
    "L2VNI/b ValidationFailed spec.vni: VNI 1 conflicts with L2VNI a",
  ],
  [
    "V9 a VRF of two L3VNIs",
    { l3vnis: [l3vni("a", { vrf: "red", vni: 1, hostsession: hostSession() }), l3vni("b", { vrf: "red", vni: 2 }, { hour: 1 })] },
    "L3VNI/b ValidationFailed spec.vrf: VRF red conflicts with L3VNI a",
  ],
  [
    "V10 overlapping gateways in a VRF",
    {
      l2vnis: [
        l2vni("a", { vrf: "red", vni: 1, l2gatewayips: ["10.0.0.1/16"] }),
        l2vni("b", { vrf: "red", vni: 2, l2gatewayips: ["10.0.5.1/24"] }, { hour: 1 }),
      ],
    },
    "L2VNI/b ValidationFailed spec.l2gatewayips: Subnet 10.0.5.0/24 of VRF red conflicts with 10.0.0.0/16 of L2VNI a",
  ],
  [
    "H4 overlapping sessions",
    {
      l3vnis: [
        l3vni("a", { vrf: "a", vni: 1, hostsession: hostSession("192.169.0.0/16") }),
        l3vni("b", { vrf: "b", vni: 2, hostsession: hostSession("192.169.1.0/24") }, { hour: 1 }),
      ],
    },
    "L3VNI/b ValidationFailed spec.hostsession.localcidr.ipv4: Session prefix 192.169.1.0/24 conflicts with 192.169.0.0/16 of L3VNI a",
  ],
  [
    "P1 two passthroughs",
    { passthroughs: [passthrough("a"), passthrough("b", hostSession("192.169.30.0/24"), { hour: 1 })] },
    "L3Passthrough/b ValidationFailed spec.nodeSelector: A second L3Passthrough on the node conflicts with L3Passthrough a",
  ],
  [
    "a route target of two VRFs",
    {
      l3vnis: [
        l3vni("a", { vrf: "a", vni: 1, hostsession: hostSession(), exportRTs: ["7:7"] }),
        l3vni("b", { vrf: "b", vni: 2, exportRTs: ["07:7"] }, { hour: 1 }),
      ],
    },
    "L3VNI/b ValidationFailed spec.exportRTs: Route target 7:7 conflicts with L3VNI a",
  ],
  [
    "an automatic route target",
    {
      l3vnis: [
        l3vni("a", { vrf: "a", vni: 5, hostsession: hostSession() }),
        l3vni("b", { vrf: "b", vni: 2, exportRTs: ["64514:5"] }, { hour: 1 }),
      ],
    },
    "L3VNI/b ValidationFailed spec.exportRTs: Route target 64514:5 conflicts with L3VNI a",
  ],
])("%s: the later loses alone", (_, objects, failure) => {
  const planned = plan(observed({ ...base, ...objects }));
  expect(failures(planned)).toEqual([failure]);
  expect(steps(planned).map((owner) => owner.split("/")[1])).toEqual(["a"]);
});

test("a subnet in another VRF is no conflict, and several L2VNIs share a VRF", () => {
  const l2vnis = [
    l2vni("a", { vrf: "red", vni: 1, l2gatewayips: ["10.0.0.1/24"] }),
    l2vni("b", { vrf: "blue", vni: 2, l2gatewayips: ["10.0.0.1/24"] }),
    l2vni("c", { vrf: "red", vni: 3, l2gatewayips: ["10.0.1.1/24"] }),
  ];
  expect(failures(plan(observed({ ...base, l2vnis })))).toEqual([]);
});

test("an old L2VNI edited onto the VNI of a newer one keeps its own VNI, and the newer one is unaffected", () => {
  const before = { ...base, l2vnis: [l2vni("old", { vni: 1 }), l2vni("new", { vni: 2 }, { hour: 1 })] };
  const recorded = [{ claim: "vni/1", since: "2026-01-01T00:00:00Z" }];
  const edited = { ...l2vni("old", { vni: 2 }, { generation: 2 }), status: { claims: recorded } };
  const holder = { ...l2vni("new", { vni: 2 }, { hour: 1 }), status: { claims: [{ claim: "vni/2", since: "2026-01-01T01:00:00Z" }] } };
  const planned = replan(before, { ...base, l2vnis: [edited, holder] });
  expect(failures(planned)).toEqual(["L2VNI/old ValidationFailed spec.vni: VNI 2 conflicts with L2VNI new"]);
  expect(steps(planned)).toEqual(["L2VNI/old kept", "L2VNI/new"]);
  expect(planned.steps[0]).toMatchObject({ generation: 1, spec: { vni: 1 } });
  expect(linkNames(planned.steps[0]?.rendered ?? { links: [], fragment: { owner: "", lines: [] } })).toContain("router vni1 in br-pe-1");
});

test("dependents of a kept resource use its kept spec", () => {
  const before = { ...base, l2vnis: [l2vni("a", { vrf: "red", vni: 1 })] };
  const after = { ...base, l2vnis: [l2vni("a", { vrf: "blue", vni: 0 }, { generation: 2 })], l3vnis: [l3vni("r", { vrf: "red", vni: 2 })] };
  const planned = replan(before, after);
  expect(planned.steps.map(({ owner, state, vrf }) => [owner, state, vrf])).toEqual([
    ["L3VNI/r", "current", "red"],
    ["L2VNI/a", "kept", "red"],
  ]);
});

test("a kept resource follows a changed Underlay", () => {
  const before = { ...base, l2vnis: [l2vni("a", { vni: 1 })] };
  const moved = underlay("fabric", { evpn: { vtepcidr: "100.66.0.0/24" } }, { generation: 2 });
  const planned = replan(before, { underlays: [moved], l2vnis: [l2vni("a", { vni: 0 }, { generation: 2 })] });
  expect(planned.steps[0]).toMatchObject({ state: "kept" });
  expect(planned.steps[0]?.rendered.links.find(({ type }) => type === "vxlan")).toMatchObject({ local: "100.66.0.0" });
});

test("a kept resource whose host bridge is gone stays unchanged", () => {
  const objects = { ...base, l2vnis: [l2vni("a", { vni: 1, hostmaster: linuxBridge("br0") })] };
  const interfaces = { host: [{ name: "eth1", addresses: [] }], router: [] };
  const planned = replan(objects, objects, { interfaces });
  expect(failures(planned)).toEqual(["L2VNI/a ValidationFailed spec.hostmaster.linuxBridge.name: Interface br0 not present on node"]);
  expect(planned.steps[0]).toMatchObject({ state: "kept", rendered: goodOf(objects).get("L2VNI/a")?.rendered });
});

test("an L3VNI edited into a VRF without an L2VNI stays in the one it is in", () => {
  const l2vnis = [l2vni("a", { vrf: "red", vni: 1 })];
  const before = { ...base, l2vnis, l3vnis: [l3vni("r", { vrf: "red", vni: 2 })] };
  const planned = replan(before, { ...base, l2vnis, l3vnis: [l3vni("r", { vrf: "green", vni: 2 }, { generation: 2 })] });
  expect(failures(planned)).toEqual(["L3VNI/r DependencyFailed spec.vrf: No healthy L2VNI exists for VRF 'green'"]);
  expect(steps(planned)).toEqual(["L3VNI/r kept", "L2VNI/a"]);
});

test("a recreated object has no last good version", () => {
  const before = { ...base, l2vnis: [l2vni("a", { vni: 1 })] };
  const recreated = l2vni("a", { vni: 0 });
  recreated.metadata.uid = "another";
  expect(steps(replan(before, { ...base, l2vnis: [recreated] }))).toEqual([]);
});

test("a raw configuration is its own fragment, without an Underlay too, and keeps its last good text", () => {
  const before = { rawConfigs: [rawConfig("x", "log syslog")] };
  expect(plan(observed(before)).steps[0]?.rendered.fragment).toEqual({ owner: "RawFRRConfig/x", lines: [{ line: "log syslog" }] });
  const planned = replan(before, { rawConfigs: [rawConfig("x", "log\u0000", 0, { generation: 2 })] });
  expect(failures(planned)).toEqual(["RawFRRConfig/x ValidationFailed spec.rawConfig: rawConfig has a control character in line 1"]);
  expect(planned.steps[0]).toMatchObject({ state: "kept", generation: 1, rendered: { fragment: { lines: [{ line: "log syslog" }] } } });
});

test("values of the Underlay cannot be used by other resources", () => {
  const planned = plan(
    observed({
      underlays: [underlay("fabric", { neighbors: [{ asn: 64512, address: "192.169.20.2" }] })],
      l2vnis: [l2vni("a", { vni: 1, vrf: "eth1" })],
      l3vnis: [l3vni("b", { vni: 2, vrf: "eth1", hostsession: hostSession() })],
      passthroughs: [passthrough("p", hostSession("192.169.20.0/24"))],
    }),
  );
  expect(failures(planned)).toEqual([
    "L2VNI/a ValidationFailed spec.vrf: VRF name eth1 is already used by an interface of the router",
    "L3VNI/b ValidationFailed spec.vrf: VRF name eth1 is already used by an interface of the router",
    "L3Passthrough/p ValidationFailed spec.hostsession.localcidr.ipv4: localcidr.ipv4 192.169.20.0/24 contains 192.169.20.2, a neighbor of Underlay fabric",
  ]);
});

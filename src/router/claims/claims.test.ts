import { describe, expect, test } from "vitest";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import { claimText } from "../../resilience/claim.ts";
import { type Contender, settle } from "../../resilience/settle.ts";
import { kindOrder, l2vniClaims, l3vniClaims, passthroughClaims, underlayClaims, vrfOf } from "./claims.ts";

const l2 = (spec: Partial<L2VNI["spec"]> = {}): L2VNI["spec"] => ({ vni: 110, vxlanport: 4789, ...spec });
const l3 = (spec: Partial<L3VNI["spec"]> = {}): L3VNI["spec"] => ({ vni: 100, vrf: "red", vxlanport: 4789, ...spec });
const session = (localcidr: { ipv4?: string; ipv6?: string }, asn = 64515) => ({ asn, hostasn: 64516, localcidr });
const texts = (claims: ReturnType<typeof underlayClaims>) => claims.map(({ key, range }) => claimText(key, range));

describe("what each kind asks for", () => {
  test("an Underlay asks to be the node's", () => {
    expect(texts(underlayClaims())).toEqual(["underlay"]);
  });

  test("an L3Passthrough asks to be the node's, and for the prefixes of its session", () => {
    const spec = { hostsession: session({ ipv4: "192.168.11.0/24", ipv6: "2001:db8:11::/64" }) };
    expect(texts(passthroughClaims(spec))).toEqual([
      "passthrough",
      "session/192.168.11.0-192.168.11.255",
      "session/2001:db8:11::-2001:db8:11:0:ffff:ffff:ffff:ffff",
    ]);
  });

  test("an L2VNI asks for its VNI and its gateways' subnets in its VRF", () => {
    expect(texts(l2vniClaims("web", l2({ vrf: "red", l2gatewayips: ["192.0.2.1/24", "2001:db8::1/64"] })))).toEqual([
      "vni/110",
      "subnet/red/192.0.2.0-192.0.2.255",
      "subnet/red/2001:db8::-2001:db8::ffff:ffff:ffff:ffff",
    ]);
  });

  test.each([
    [l2(), "web"],
    [l2({ vrf: "" }), "web"],
    [l2({ vrf: "red" }), "red"],
  ])("the VRF of the L2VNI web with %o is %s", (spec, vrf) => {
    expect(vrfOf("web", spec)).toBe(vrf);
  });

  test("an L3VNI asks for its VNI, to be its VRF's, its route target, and its session's prefixes on the node and in its VRF", () => {
    expect(texts(l3vniClaims(l3({ hostsession: session({ ipv4: "192.168.10.7/24" }) }), 64514))).toEqual([
      "vni/100",
      "vrf/red",
      "rt/64515:100",
      "session/192.168.10.0-192.168.10.255",
      "subnet/red/192.168.10.0-192.168.10.255",
    ]);
  });

  test.each([
    ["the Underlay's AS number and the VNI", l3(), 64514, ["rt/64514:100"]],
    ["the lower two bytes of a long AS number", l3(), 4_200_000_000, [`rt/${4_200_000_000 & 0xffff}:100`]],
    ["nothing while no AS number is known", l3(), undefined, []],
    ["the AS number of the session", l3({ hostsession: session({ ipv4: "192.168.10.0/24" }, 65001) }), 64514, ["rt/65001:100"]],
    ["what is written instead", l3({ exportRTs: ["64514:200", "192.0.2.1:5"] }), 64514, ["rt/64514:200", "rt/192.0.2.1:5"]],
    ["numbers, not digits", l3({ exportRTs: ["064514:0200"] }), 64514, ["rt/64514:200"]],
    ["the automatic one for an empty list", l3({ exportRTs: [] }), 64514, ["rt/64514:100"]],
    ["nothing that is no route target", l3({ exportRTs: ["red", ":", "1:2:3", "a:1", "1:", ""] }), 64514, []],
  ])("a VRF exports %s", (_what, spec, asn, expected) => {
    expect(texts(l3vniClaims(spec, asn)).filter((text) => text.startsWith("rt/"))).toEqual(expected);
  });

  test("values that cannot be read ask for nothing", () => {
    expect(texts(l2vniClaims("web", l2({ l2gatewayips: ["192.0.2.1", "", "x/24"] })))).toEqual(["vni/110"]);
    expect(texts(passthroughClaims({ hostsession: session({ ipv4: "10.0.0.0/33", ipv6: "" }) }))).toEqual(["passthrough"]);
  });
});

describe("who is told what", () => {
  type Spec = { l2: L2VNI["spec"] } | { l3: L3VNI["spec"] } | { pass: ReturnType<typeof session> } | { underlay: true };
  const entry = (kind: string, name: string, spec: Spec, second: number): Contender<Spec> => ({
    kind,
    namespace: "openperouter-system",
    name,
    generation: 1,
    created: new Date(second * 1000),
    spec,
    recorded: [],
  });
  const told = (...contenders: Contender<Spec>[]) =>
    settle<Spec>(contenders, {
      check: () => [],
      claims: (spec, { name }) => {
        if ("l2" in spec) return l2vniClaims(name, spec.l2);
        if ("l3" in spec) return l3vniClaims(spec.l3, 64514);
        return "pass" in spec ? passthroughClaims({ hostsession: spec.pass }) : underlayClaims();
      },
      kindOrder,
      now: new Date(1_000_000),
    }).failures.map(({ kind, name, field, message }) => `${kind} ${name} ${field}: ${message}`);

  test.each<[string, Contender<Spec>[], string[]]>([
    [
      "the same VNI in an L2VNI and an L3VNI",
      [entry("L3VNI", "production-l3", { l3: l3() }, 1), entry("L2VNI", "tenant-network-b", { l2: l2({ vni: 100 }) }, 2)],
      ["L2VNI tenant-network-b spec.vni: VNI 100 conflicts with L3VNI production-l3"],
    ],
    [
      "the same VNI at the same moment",
      [entry("L2VNI", "a", { l2: l2({ vni: 100 }) }, 1), entry("L3VNI", "b", { l3: l3() }, 1)],
      ["L2VNI a spec.vni: VNI 100 conflicts with L3VNI b"],
    ],
    [
      "the same VNI in two L3VNIs, whose automatic route targets are then the same too",
      [entry("L3VNI", "a", { l3: l3() }, 1), entry("L3VNI", "b", { l3: l3({ vrf: "blue" }) }, 2)],
      ["L3VNI b spec.vni: VNI 100 conflicts with L3VNI a"],
    ],
    [
      "two L3VNIs of one VRF",
      [entry("L3VNI", "a", { l3: l3() }, 1), entry("L3VNI", "b", { l3: l3({ vni: 200 }) }, 2)],
      ["L3VNI b spec.vrf: VRF red conflicts with L3VNI a"],
    ],
    [
      "an exported route target that is another's automatic one",
      [entry("L3VNI", "a", { l3: l3() }, 1), entry("L3VNI", "b", { l3: l3({ vrf: "blue", vni: 200, exportRTs: ["64514:100"] }) }, 2)],
      ["L3VNI b spec.exportRTs: Route target 64514:100 conflicts with L3VNI a"],
    ],
    [
      "an automatic route target that another exports already",
      [entry("L3VNI", "a", { l3: l3({ vrf: "blue", vni: 200, exportRTs: ["64514:100"] }) }, 1), entry("L3VNI", "b", { l3: l3() }, 2)],
      ["L3VNI b spec.vni: Route target 64514:100 conflicts with L3VNI a"],
    ],
    [
      "overlapping subnets in one VRF: only the later fails",
      [
        entry("L2VNI", "a", { l2: l2({ vrf: "red", l2gatewayips: ["192.0.2.1/24"] }) }, 1),
        entry("L2VNI", "b", { l2: l2({ vni: 111, vrf: "red", l2gatewayips: ["192.0.2.129/25"] }) }, 2),
        entry("L2VNI", "c", { l2: l2({ vni: 112, vrf: "blue", l2gatewayips: ["192.0.2.129/25"] }) }, 3),
        entry("L3VNI", "d", { l3: l3({ hostsession: session({ ipv4: "192.0.0.0/16" }) }) }, 4),
      ],
      [
        "L3VNI d spec.hostsession.localcidr.ipv4: Subnet 192.0.0.0/16 of VRF red conflicts with 192.0.2.0/24 of L2VNI a",
        "L2VNI b spec.l2gatewayips: Subnet 192.0.2.128/25 of VRF red conflicts with 192.0.2.0/24 of L2VNI a",
      ],
    ],
    [
      "overlapping sessions in different VRFs, and with the passthrough",
      [
        entry("L3Passthrough", "p", { pass: session({ ipv4: "192.168.0.0/16" }) }, 1),
        entry("L3VNI", "a", { l3: l3({ hostsession: session({ ipv4: "192.168.1.0/24", ipv6: "2001:db8::/64" }) }) }, 2),
        entry("L3VNI", "b", { l3: l3({ vrf: "blue", vni: 200, hostsession: session({ ipv6: "2001:db8::/64" }) }) }, 3),
      ],
      ["L3VNI a spec.hostsession.localcidr.ipv4: Session prefix 192.168.1.0/24 conflicts with 192.168.0.0/16 of L3Passthrough p"],
    ],
    [
      "a second Underlay and a second L3Passthrough",
      [
        entry("Underlay", "first", { underlay: true }, 1),
        entry("Underlay", "second", { underlay: true }, 2),
        entry("L3Passthrough", "p", { pass: session({ ipv4: "192.168.1.0/24" }) }, 1),
        entry("L3Passthrough", "q", { pass: session({ ipv4: "192.168.2.0/24" }) }, 2),
      ],
      [
        "Underlay second spec.nodeSelector: A second Underlay on the node conflicts with Underlay first",
        "L3Passthrough q spec.nodeSelector: A second L3Passthrough on the node conflicts with L3Passthrough p",
      ],
    ],
  ])("%s", (_what, contenders, expected) => {
    expect(told(...contenders)).toEqual(expected);
    expect(told(...contenders.toReversed())).toEqual(expected);
  });
});

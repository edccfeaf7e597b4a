import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import { claimText } from "../../resilience/claim.ts";
import { type ClaimingResource, resolveConflicts } from "../../resilience/resolve-conflicts.ts";
import { kindOrder, l2vniClaims, l3vniClaims, passthroughClaims, underlayClaims } from "./claims.ts";
import { vrfOf } from "../validate/names.ts";

const l2 = (spec: Partial<L2VNI["spec"]> = {}): L2VNI["spec"] => ({ vni: 110, vxlanport: 4789, ...spec });
const l3 = (spec: Partial<L3VNI["spec"]> = {}): L3VNI["spec"] => ({ vni: 100, vrf: "red", vxlanport: 4789, ...spec });
const session = (localcidr: { ipv4?: string; ipv6?: string }, asn = 64515) => ({ asn, hostasn: 64516, localcidr });
const texts = (claims: ReturnType<typeof underlayClaims>) => claims.map(({ key, range }) => claimText(key, range));
const links = (claims: ReturnType<typeof underlayClaims>) =>
  claims.filter(({ key }) => key.startsWith("link/")).map(({ key, shared }) => `${shared ? "shared " : ""}${key}`);

describe("the claims of each kind", () => {
  test("an Underlay claims the node", () => {
    expect(texts(underlayClaims())).toEqual(["underlay"]);
  });

  test("an L3Passthrough claims the node and the prefixes of its session", () => {
    const spec = { hostsession: session({ ipv4: "192.168.11.0/24", ipv6: "2001:db8:11::/64" }) };
    expect(texts(passthroughClaims(spec))).toEqual([
      "passthrough",
      "link/pt-ns",
      "session/192.168.11.0-192.168.11.255",
      "session/2001:db8:11::-2001:db8:11:0:ffff:ffff:ffff:ffff",
    ]);
  });

  test("an L2VNI claims its VNI and the subnets of its gateways in its VRF", () => {
    expect(texts(l2vniClaims("web", l2({ vrf: "red", l2gatewayips: ["192.0.2.1/24", "2001:db8::1/64"] })))).toEqual([
      "vni/110",
      "link/vni110",
      "link/br-pe-110",
      "link/pe-110",
      "import/110",
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

  test("an L3VNI claims its VNI, its VRF, its route target, and the prefixes of its session on the node and in its VRF", () => {
    expect(texts(l3vniClaims(l3({ hostsession: session({ ipv4: "192.168.10.7/24" }) }), 64514))).toEqual([
      "vni/100",
      "link/vni100",
      "link/br-pe-100",
      "link/pe-100",
      "vrf/red",
      "rt/64515:100",
      "import/100",
      "session/192.168.10.0-192.168.10.255",
      "subnet/red/192.168.10.0-192.168.10.255",
    ]);
  });

  test.each([
    ["the Underlay's AS number and the VNI", l3(), 64514, ["rt/64514:100"]],
    ["the lower two bytes of a long AS number", l3(), 4_200_000_000, [`rt/${4_200_000_000 & 0xffff}:100`]],
    ["nothing while no AS number is known", l3(), undefined, []],
    ["the AS number of the session", l3({ hostsession: session({ ipv4: "192.168.10.0/24" }, 65001) }), 64514, ["rt/65001:100"]],
    ["the explicit target", l3({ exportRTs: ["64514:200", "192.0.2.1:5"] }), 64514, ["rt/64514:200", "rt/192.0.2.1:5"]],
    ["numbers, not digits", l3({ exportRTs: ["064514:0200"] }), 64514, ["rt/64514:200"]],
    ["the automatic one for an empty list", l3({ exportRTs: [] }), 64514, ["rt/64514:100"]],
    ["no invalid route target", l3({ exportRTs: ["red", ":", "1:2:3", "a:1", "1:", ""] }), 64514, []],
  ])("a VRF exports %s", (_what, spec, asn, expected) => {
    expect(texts(l3vniClaims(spec, asn)).filter((text) => text.startsWith("rt/"))).toEqual(expected);
  });

  test.each([
    ["any AS number with its VNI", l3(), 64514, ["import/100"]],
    ["any AS number also while its own is not known", l3(), undefined, ["import/100"]],
    ["any AS number for an empty list", l3({ importRTs: [] }), 64514, ["import/100"]],
    ["any AS number if only the automatic target is listed: FRR ignores it", l3({ importRTs: ["64514:100"] }), 64514, ["import/100"]],
    ["exactly what is listed", l3({ importRTs: ["65000:100", "64514:100"] }), 64514, []],
    ["exactly what is listed, while its AS number is not known", l3({ importRTs: ["64514:100"] }), undefined, []],
    ["nothing for its own explicit target", l3({ exportRTs: ["65000:100"] }), 64514, ["import/100"]],
    [
      "what VNIs with the numbers of its explicit targets import",
      l3({ exportRTs: ["65000:200", "192.0.2.1:5", "65001:200"] }),
      64514,
      ["import/100", "shared import/200", "shared import/5", "shared import/200"],
    ],
    ["no number that is no VNI", l3({ exportRTs: ["65000:0", "65000:16777216"] }), 64514, ["import/100"]],
  ])("a VRF imports, or sends into the imports of others, %s", (_what, spec, asn, expected) => {
    const claims = l3vniClaims(spec, asn).filter(({ key }) => key.startsWith("import/"));
    expect(claims.map(({ key, shared }) => `${shared ? "shared " : ""}${key}`)).toEqual(expected);
  });

  test("imports are not recorded: they are as old as the VNI or the exported route target", () => {
    const claims = l3vniClaims(l3({ exportRTs: ["65000:200"] }), 64514).filter(({ key }) => key.startsWith("import/"));
    expect(claims.map(({ key, follows }) => `${key} ${follows}`)).toEqual(["import/100 vni/100", "import/200 rt/65000:200"]);
  });

  test.each([
    ["vni7", ["shared link/vni7"]],
    ["br-pe-7", ["shared link/br-pe-7"]],
    ["pe-7", ["shared link/pe-7"]],
    ["pt-ns", ["shared link/pt-ns"]],
    ["vni07", []],
    ["vni0", []],
    ["vni", []],
    ["host-7", []],
    ["red", []],
  ])("the VRF name %s claims %j", (vrf, expected) => {
    expect(links(l2vniClaims("web", l2({ vrf })))).toEqual([...expected, "link/vni110", "link/br-pe-110", "link/pe-110"]);
    expect(links(l3vniClaims(l3({ vrf }), 64514))).toEqual([...expected, "link/vni100", "link/br-pe-100"]);
  });

  test("invalid values claim nothing", () => {
    expect(texts(l2vniClaims("web", l2({ l2gatewayips: ["192.0.2.1", "", "x/24"] })))).toEqual([
      "vni/110",
      "link/vni110",
      "link/br-pe-110",
      "link/pe-110",
      "import/110",
    ]);
    expect(texts(passthroughClaims({ hostsession: session({ ipv4: "10.0.0.0/33", ipv6: "" }) }))).toEqual(["passthrough", "link/pt-ns"]);
  });
});

describe("conflict messages", () => {
  type Spec = { l2: L2VNI["spec"] } | { l3: L3VNI["spec"] } | { pass: ReturnType<typeof session> } | { underlay: true };
  const entry = (kind: string, name: string, spec: Spec, second: number): ClaimingResource<Spec> => ({
    kind,
    namespace: "openperouter-system",
    name,
    generation: 1,
    created: new Date(second * 1000),
    spec,
    recorded: [],
  });
  const failuresOf = (...resources: ClaimingResource<Spec>[]) =>
    resolveConflicts<Spec>(resources, {
      check: () => [],
      claims: (spec, { name }) => {
        if ("l2" in spec) return l2vniClaims(name, spec.l2);
        if ("l3" in spec) return l3vniClaims(spec.l3, 64514);
        return "pass" in spec ? passthroughClaims({ hostsession: spec.pass }) : underlayClaims();
      },
      kindOrder,
      now: new Date(1_000_000),
    }).failures.map(({ kind, name, field, message }) => `${kind} ${name} ${field}: ${message}`);

  test.each<[string, ClaimingResource<Spec>[], string[]]>([
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
      "an exported route target that is the automatic one of another VRF",
      [entry("L3VNI", "a", { l3: l3() }, 1), entry("L3VNI", "b", { l3: l3({ vrf: "blue", vni: 200, exportRTs: ["64514:100"] }) }, 2)],
      ["L3VNI b spec.exportRTs: Route target 64514:100 conflicts with L3VNI a"],
    ],
    [
      "an automatic route target that another exports already",
      [entry("L3VNI", "a", { l3: l3({ vrf: "blue", vni: 200, exportRTs: ["64514:100"] }) }, 1), entry("L3VNI", "b", { l3: l3() }, 2)],
      ["L3VNI b spec.vni: Route target 64514:100 conflicts with L3VNI a"],
    ],
    [
      "an exported route target of another AS that is another VRF's automatic import",
      [entry("L3VNI", "a", { l3: l3() }, 1), entry("L3VNI", "b", { l3: l3({ vrf: "blue", vni: 200, exportRTs: ["65000:100"] }) }, 2)],
      ["L3VNI b spec.exportRTs: Route target 65000:100, which VNI 100 imports from any AS, conflicts with L3VNI a"],
    ],
    [
      "an automatic import of a route target that another exports already",
      [entry("L3VNI", "a", { l3: l3({ vrf: "blue", vni: 200, exportRTs: ["65000:100"] }) }, 1), entry("L3VNI", "b", { l3: l3() }, 2)],
      ["L3VNI b spec.vni: Route target *:100, which VNI 100 imports from any AS, conflicts with L3VNI a"],
    ],
    [
      "an exported route target that an L2VNI imports",
      [entry("L2VNI", "a", { l2: l2({ vni: 300 }) }, 1), entry("L3VNI", "b", { l3: l3({ exportRTs: ["64514:300"] }) }, 2)],
      ["L3VNI b spec.exportRTs: Route target 64514:300, which VNI 300 imports from any AS, conflicts with L2VNI a"],
    ],
    [
      "an L2VNI that imports what two VRFs export",
      [
        entry("L3VNI", "a", { l3: l3({ exportRTs: ["65000:300"] }) }, 1),
        entry("L3VNI", "b", { l3: l3({ vrf: "blue", vni: 200, exportRTs: ["65001:300"] }) }, 2),
        entry("L2VNI", "c", { l2: l2({ vni: 300 }) }, 3),
      ],
      [
        "L2VNI c spec.vni: Route target *:300, which VNI 300 imports from any AS, conflicts with L3VNI a",
        "L2VNI c spec.vni: Route target *:300, which VNI 300 imports from any AS, conflicts with L3VNI b",
      ],
    ],
    [
      "nothing: a VRF that imports only what it lists",
      [
        entry("L3VNI", "a", { l3: l3({ importRTs: ["64514:999"] }) }, 1),
        entry("L3VNI", "b", { l3: l3({ vrf: "blue", vni: 200, exportRTs: ["65000:100"] }) }, 2),
      ],
      [],
    ],
    [
      "nothing: a VRF that lists what another exports, which is what importRTs is for",
      [entry("L3VNI", "a", { l3: l3() }, 1), entry("L3VNI", "b", { l3: l3({ vrf: "blue", vni: 200, importRTs: ["64514:100"] }) }, 2)],
      [],
    ],
    [
      "a VRF with the name of another VNI's VXLAN device",
      [
        entry("L2VNI", "a", { l2: l2({ vni: 7 }) }, 1),
        entry("L2VNI", "b", { l2: l2({ vni: 8, vrf: "vni7" }) }, 2),
        entry("L3VNI", "c", { l3: l3({ vrf: "vni7" }) }, 3),
      ],
      ["L3VNI c spec.vrf: VRF name vni7 conflicts with L2VNI a", "L2VNI b spec.vrf: VRF name vni7 conflicts with L2VNI a"],
    ],
    [
      "a VNI whose VXLAN device has the name of an older VRF, which several share",
      [
        entry("L2VNI", "a", { l2: l2({ vni: 8, vrf: "vni7" }) }, 1),
        entry("L3VNI", "b", { l3: l3({ vrf: "vni7" }) }, 2),
        entry("L2VNI", "c", { l2: l2({ vni: 7 }) }, 3),
      ],
      [
        "L2VNI c spec.vni: Link name vni7 of VNI 7 conflicts with L3VNI b",
        "L2VNI c spec.vni: Link name vni7 of VNI 7 conflicts with L2VNI a",
      ],
    ],
    [
      "nothing: a VRF called vni1 where no VNI 1 is",
      [entry("L2VNI", "a", { l2: l2({ vrf: "vni1" }) }, 1), entry("L3VNI", "b", { l3: l3({ vrf: "vni1" }) }, 2)],
      [],
    ],
    [
      "nothing: a VRF called pe-100 beside an L3VNI without a session, which has no such link",
      [entry("L3VNI", "a", { l3: l3() }, 1), entry("L2VNI", "b", { l2: l2({ vrf: "pe-100" }) }, 2)],
      [],
    ],
    [
      "a VRF with the name of the passthrough's link",
      [entry("L3Passthrough", "p", { pass: session({ ipv4: "192.168.1.0/24" }) }, 1), entry("L2VNI", "b", { l2: l2({ vrf: "pt-ns" }) }, 2)],
      ["L2VNI b spec.vrf: VRF name pt-ns conflicts with L3Passthrough p"],
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
  ])("%s", (_what, resources, expected) => {
    expect(failuresOf(...resources)).toEqual(expected);
    expect(failuresOf(...resources.toReversed())).toEqual(expected);
  });
});

describe("route targets as FRR matches them", () => {
  const asns = fc.constantFrom(64514, 65000, 4_200_000_000);
  const vnis = fc.integer({ min: 1, max: 6 });
  const target = fc.tuple(fc.constantFrom("64514", "65000", "4200000000", "192.0.2.1"), vnis).map((parts) => parts.join(":"));
  const targets = fc.option(fc.array(target, { maxLength: 3 }), { nil: undefined, freq: 3 });
  const vni: fc.Arbitrary<Drawn> = fc.oneof(
    fc.record({ kind: fc.constant("L2VNI" as const), vni: vnis, since: fc.nat(9) }),
    fc.record({ kind: fc.constant("L3VNI" as const), vni: vnis, since: fc.nat(9), exportRTs: targets, importRTs: targets }),
  );
  interface Drawn {
    kind: "L2VNI" | "L3VNI";
    vni: number;
    since: number;
    exportRTs?: string[] | undefined;
    importRTs?: string[] | undefined;
  }

  const automatic = (asn: number, { vni: number }: Drawn) => `${asn % 65_536}:${number}`;
  /** FRR derives the target unless another is configured. */
  const configured = (asn: number, one: Drawn, list: string[] = []) => (list.some((text) => text !== automatic(asn, one)) ? list : []);
  const exported = (asn: number, one: Drawn) => {
    const list = configured(asn, one, one.exportRTs);
    return list.length > 0 ? list : [automatic(asn, one)];
  };
  /** Without configured targets the global administrator part is masked. */
  const importsUnasked = (asn: number, one: Drawn, text: string) =>
    configured(asn, one, one.importRTs).length === 0 && text.endsWith(`:${one.vni}`);
  const overlap = (asn: number, a: Drawn, b: Drawn) =>
    a.vni === b.vni ||
    exported(asn, a).some((text) => importsUnasked(asn, b, text) || (a.kind === b.kind && exported(asn, b).includes(text))) ||
    exported(asn, b).some((text) => importsUnasked(asn, a, text));

  test("winners do not import each other's routes unless they list them, and every loser overlaps a winner", () => {
    fc.assert(
      fc.property(asns, fc.uniqueArray(vni, { maxLength: 6, selector: (one) => JSON.stringify(one) }), (asn, drawn) => {
        const resources = drawn.map((spec, nth) => ({
          kind: spec.kind,
          namespace: "openperouter-system",
          name: `v${nth}`,
          generation: 1,
          created: new Date(spec.since * 1000),
          spec,
          recorded: [],
        }));
        const { effective, failures } = resolveConflicts<Drawn>(resources, {
          check: () => [],
          claims: ({ kind, vni: number, exportRTs, importRTs }, { name }) =>
            kind === "L2VNI"
              ? l2vniClaims(name, l2({ vni: number }))
              : l3vniClaims(l3({ vni: number, vrf: name, ...(exportRTs && { exportRTs }), ...(importRTs && { importRTs }) }), asn),
          kindOrder,
          now: new Date(1_000_000),
        });
        for (const [nth, { spec: a }] of effective.entries()) {
          for (const { spec: b } of effective.slice(nth + 1)) expect(overlap(asn, a, b)).toBe(false);
        }
        for (const { name } of failures) {
          const loser = resources.find((one) => one.name === name)?.spec as Drawn;
          expect(effective.some(({ spec }) => overlap(asn, spec, loser))).toBe(true);
        }
      }),
      { seed: 5, numRuns: 500 },
    );
  });
});

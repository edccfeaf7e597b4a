import { expect, test } from "vitest";
import { hostSession, l3vni, underlay } from "../testing/fixtures.ts";
import { farImports } from "./imports.ts";

const fabric = [underlay()];
const green = l3vni("green", { vrf: "green", vni: 300, exportRTs: ["64514:31"], importRTs: ["64514:32"] });
const amber = (vni: number, more: object = {}) => l3vni("amber", { vrf: "amber", vni, exportRTs: ["64514:32"], ...more });

test("an import that only another VNI exports is reported with the exporting L3VNI", () => {
  expect(farImports(green, [green, amber(301)], fabric)).toEqual([
    {
      field: "spec.importRTs[0]",
      message:
        "Route target 64514:32 is exported only by L3VNI amber (VNI 301); FRR forwards no traffic from VNI 300 to another VNI. Use one VNI on different nodes, or connect the VRFs with an external router",
    },
  ]);
});

test.each([
  ["the same VNI exports it", green, [amber(300)]],
  ["an L3VNI with the same VNI exports it too", green, [amber(301), l3vni("other", { vrf: "other", vni: 300, exportRTs: ["64514:32"] })]],
  ["no L3VNI exports it", green, []],
  ["it is its own export", l3vni("own", { vrf: "own", vni: 300, importRTs: ["64514:300"] }), []],
  ["it is not a route target", l3vni("odd", { vrf: "odd", vni: 300, importRTs: ["x"] }), [amber(301)]],
])("an import is not reported if %s", (_what, importing, others) => {
  expect(farImports(importing, [importing, ...others], fabric)).toEqual([]);
});

const wants = (target: string) => l3vni("wants", { vrf: "wants", vni: 300, importRTs: [target] });

test("the automatic export of another L3VNI uses the AS number of its session, or of the Underlay", () => {
  const plain = l3vni("plain", { vrf: "plain", vni: 301 });
  const session = l3vni("session", { vrf: "session", vni: 302, hostsession: { ...hostSession(), asn: 64999 } });
  for (const target of ["64514:301", "64999:302"]) expect(farImports(wants(target), [plain, session], fabric)).toHaveLength(1);
  for (const target of ["64999:301", "64514:302"]) expect(farImports(wants(target), [plain, session], fabric)).toEqual([]);
});

import { expect, test } from "vitest";
import type { ObservedNode, RouterObjects } from "./model/observed.ts";
import { plan } from "./plan.ts";
import { l2vni, observed, underlay } from "./testing/fixtures.ts";

const fabric = (...nics: string[]): Partial<RouterObjects> => ({ underlays: [underlay("fabric", { nics })] });
const have = (...names: string[]): Pick<ObservedNode, "interfaces"> => ({
  interfaces: { host: [], router: names.map((name) => ({ name, addresses: [] })) },
});

/** The last good forms of a node that has applied these objects with all their interfaces. */
function applied(objects: Partial<RouterObjects>): ObservedNode["lastGood"] {
  const { underlay: step } = plan(observed(objects, have("eth1", "eth2")));
  return new Map(step && [[step.owner, step]]);
}

test("an interface that was live and vanishes is a failure of the Underlay that stops nothing", () => {
  const lastGood = applied(fabric("eth1", "eth2"));
  const objects = { ...fabric("eth1", "eth2"), l2vnis: [l2vni("red", { vni: 100 })] };
  const { underlay: root, steps, failures, stopped } = plan(observed(objects, { lastGood, ...have("eth1") }));
  expect(failures).toEqual([
    {
      kind: "Underlay",
      name: "fabric",
      namespace: "openperouter-system",
      reason: "ValidationFailed",
      field: "spec.nics[1]",
      message:
        "Interface eth2 not present on node; the other interfaces of Underlay fabric are in use. Restore it, or remove it from the Underlay",
      class: "Transient",
    },
  ]);
  expect([stopped, root?.state, steps.map(({ owner }) => owner)]).toEqual([undefined, "current", ["L2VNI/red"]]);
  expect(root?.rendered.links.filter(({ type }) => type === "nic")).toEqual([
    { type: "nic", netns: "router", name: "eth1", owner: "Underlay/fabric" },
    { type: "nic", netns: "router", name: "eth2", owner: "Underlay/fabric", optional: true },
  ]);
});

test("an edit of the Underlay is applied while one of its interfaces is lost", () => {
  const edited = { underlays: [underlay("fabric", { nics: ["eth1", "eth2"], asn: 64600 }, { generation: 2 })] };
  const planned = plan(observed(edited, { lastGood: applied(fabric("eth1", "eth2")), ...have("eth2") }));
  expect([planned.stopped, planned.underlay?.generation]).toEqual([undefined, 2]);
  expect(planned.failures.map(({ field }) => field)).toEqual(["spec.nics[0]"]);
});

test.each<[string, string[], string[], string[]]>([
  ["the last interface of an Underlay vanishes", ["eth1", "eth2"], ["eth1", "eth2"], []],
  ["an interface is added that the node never had", ["eth1"], ["eth1", "eth2"], ["eth1"]],
  ["the only live interface vanishes, and another one is not there yet", ["eth1"], ["eth1", "eth2"], []],
])("the last good router stays if %s", (_, before, after, present) => {
  const planned = plan(observed(fabric(...after), { lastGood: applied(fabric(...before)), ...have(...present) }));
  expect(planned.stopped).toMatchObject({ kind: "Underlay", name: "fabric", reason: "ValidationFailed" });
});

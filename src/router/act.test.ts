import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { WantedLink } from "../hostnet/desired-link.ts";
import type { Failure } from "../resilience/failure.ts";
import { act } from "./act.ts";
import type { LastGood } from "./render/rendered.ts";
import { GroundInMemory } from "./testing/memory-backends.ts";
import type { RouterPlan } from "./plan.ts";
import type { RouterKind, Step } from "./step.ts";

let ground: GroundInMemory;
let lastGood: Map<string, LastGood>;
beforeEach(() => {
  ground = new GroundInMemory();
  ground.links.host.set("eth1", { name: "eth1", alias: "", type: "nic", as: "" });
  lastGood = new Map();
});

const link = (place: "host" | "router", name: string, owner: string, more: Partial<WantedLink> = {}) =>
  ({ place, name, owner, type: "bridge", ...more }) as WantedLink;

const step = (kind: RouterKind, name: string, form: Step["form"], more: Partial<Step> = {}): Step => ({
  owner: `${kind}/${name}`,
  kind,
  name,
  namespace: "openperouter-system",
  uid: `uid-${kind}-${name}`,
  generation: 1,
  spec: {},
  state: "current",
  form,
  ...more,
});

const underlay = (asn = 64514, nic = "eth1", name = "u", more: Partial<Step> = {}): Step => {
  const owner = `Underlay/${name}`;
  return step(
    "Underlay",
    name,
    {
      fragment: { owner, lines: [{ line: `router bgp ${asn}`, inside: [{ line: "neighbor 192.0.2.1 remote-as 64512" }] }] },
      links: [link("router", nic, owner, { type: "nic" }), link("router", "lound", owner, { type: "dummy" })],
    },
    more,
  );
};

const l2vni = (name: string, vni: number, vrf = name, more: Partial<Step> = {}): Step => {
  const owner = `L2VNI/${name}`;
  const links = [
    link("router", vrf, `VRF/${vrf}`, { type: "vrf" }),
    link("router", `br-pe-${vni}`, owner, { master: vrf }),
    link("router", `vni${vni}`, owner, { master: `br-pe-${vni}` }),
    link("host", `host-${vni}`, owner),
  ];
  const fragment = { owner, lines: [{ line: `router bgp 64514 vrf ${vrf}`, inside: [{ line: `network 10.${vni % 256}.0.0/24` }] }] };
  return step("L2VNI", name, { fragment, links }, { vrf, ...more });
};

const l3vni = (name: string, vni: number, vrf = name, more: Partial<Step> = {}): Step => {
  const owner = `L3VNI/${name}`;
  const links = [
    link("router", vrf, `VRF/${vrf}`, { type: "vrf" }),
    link("router", `br-pe-${vni}`, owner),
    link("router", `vni${vni}`, owner),
  ];
  return step(
    "L3VNI",
    name,
    { fragment: { owner, lines: [{ line: `vrf ${vrf}`, inside: [{ line: `vni ${vni}` }] }] }, links },
    { vrf, ...more },
  );
};

const asked = (underlay: Step | undefined, ...steps: Step[]): RouterPlan => ({
  underlay,
  steps,
  failures: [],
  selected: [...(underlay ? [underlay] : []), ...steps].map(({ kind, name, generation }) => ({ kind, name, generation })),
});

const pass = (underlay: Step | undefined, ...steps: Step[]) => act(asked(underlay, ...steps), lastGood, ground);

const said = (failures: readonly Failure[]) => failures.map(({ kind, name, reason, message }) => `${kind}/${name} ${reason}: ${message}`);

describe("from an empty node", () => {
  test("the EVPN instance is in FRR before the first link of a VNI", async () => {
    const { failures, live } = await pass(underlay(), l2vni("red", 100));
    expect(failures).toEqual([]);
    expect(Object.fromEntries(live)).toEqual({ "Underlay/u": 1, "L2VNI/red": 1 });
    expect(ground.log).toEqual([
      "lines Router/base",
      "link router/eth1",
      "link router/lound",
      "asked the API",
      "lines Underlay/u",
      "link router/red",
      "link router/br-pe-100",
      "link router/vni100",
      "link host/host-100",
      "lines L2VNI/red",
    ]);
  });

  test("the same pass again changes nothing and sends nothing", async () => {
    await pass(underlay(), l2vni("red", 100), l3vni("red", 200));
    ground.log.length = 0;
    const { changes, failures } = await pass(underlay(), l2vni("red", 100), l3vni("red", 200));
    expect({ changes, failures, log: ground.log }).toEqual({ changes: [], failures: [], log: [] });
  });

  test("no Underlay and nothing else is an empty router", async () => {
    expect(await pass(undefined)).toMatchObject({ failures: [], changes: [{ owner: "Router/base", links: 0, lines: 1, drift: false }] });
  });
});

describe("a step that is refused", () => {
  test("by the kernel is undone alone, in the kernel's words, and the next goes on", async () => {
    ground.refused.add("router/vni100");
    const { failures, live } = await pass(underlay(), l2vni("red", 100), l2vni("blue", 101));
    expect(said(failures)).toEqual(["L2VNI/red ApplicationFailed: vni100: RTNETLINK answers: Operation not supported"]);
    expect([...live.keys()]).toEqual(["Underlay/u", "L2VNI/blue"]);
    expect(ground.has("router", "blue", "br-pe-101", "vni101")).toBe(true);
    expect(ground.links.router.has("br-pe-100")).toBe(false);
    expect(ground.links.router.has("red")).toBe(false);
  });

  test("by FRR leaves no link behind, and names line and daemon", async () => {
    ground.refused.add("vni 200");
    const { failures } = await pass(underlay(), l2vni("red", 100), l3vni("red", 200));
    expect(said(failures)).toEqual(['L3VNI/red ApplicationFailed: bgpd refused "vni 200": % Unknown command']);
    expect(ground.links.router.has("vni200")).toBe(false);
    expect(ground.has("router", "red", "vni100")).toBe(true);
  });

  test("keeps a VRF that a sibling stands on", async () => {
    await pass(underlay(), l2vni("a", 100, "red"));
    ground.refused.add("router/vni101");
    await pass(underlay(), l2vni("a", 100, "red"), l2vni("b", 101, "red"));
    expect(ground.has("router", "red", "vni100")).toBe(true);
  });

  test("keeps its last good form, links and lines, and says which generation is live", async () => {
    await pass(underlay(), l2vni("red", 100));
    ground.refused.add("network 10.111.0.0/24");
    const { live, failures } = await pass(underlay(), l2vni("red", 111, "red", { generation: 2 }));
    expect(failures).toHaveLength(1);
    expect(live.get("L2VNI/red")).toBe(1);
    expect(ground.has("router", "red", "br-pe-100", "vni100")).toBe(true);
    expect(ground.links.router.has("vni111")).toBe(false);
    expect(ground.fragments.get("L2VNI/red")?.lines[0]?.inside).toEqual([{ line: "network 10.100.0.0/24" }]);
  });

  test("that was live and cannot be put back is no longer called live, and stays for the next try", async () => {
    await pass(underlay(), l2vni("red", 100));
    ground.links.router.delete("vni100");
    ground.refused.add("router/vni100");
    const { live, failures } = await pass(underlay(), l2vni("red", 100));
    expect(failures).toHaveLength(1);
    expect(live.has("L2VNI/red")).toBe(false);
    expect(lastGood.has("L2VNI/red")).toBe(true);
    ground.refused.clear();
    expect((await pass(underlay(), l2vni("red", 100))).live.get("L2VNI/red")).toBe(1);
  });

  test("of an object that was made anew under the same name leaves nothing of the old one", async () => {
    await pass(underlay(), l2vni("red", 100));
    ground.refused.add("network 10.111.0.0/24");
    const { live } = await pass(underlay(), l2vni("red", 111, "red", { uid: "another" }));
    expect(live.has("L2VNI/red")).toBe(false);
    expect(ground.has("router", "vni100")).toBe(false);
    expect(ground.fragments.has("L2VNI/red")).toBe(false);
  });

  test("never shows a password", async () => {
    ground.refused.add("neighbor 192.0.2.1 password s3cret");
    const form = { fragment: { owner: "Underlay/u", lines: [{ line: "neighbor 192.0.2.1 password s3cret" }] }, links: [] };
    const { failures } = await pass(step("Underlay", "u", form));
    expect(failures[0]?.message).toBe('bgpd refused "neighbor 192.0.2.1 password ***": % Unknown command');
  });
});

describe("the Underlay", () => {
  test("that failed validation stops everything: nothing is touched, also not what should go", async () => {
    await pass(underlay(), l2vni("red", 100));
    ground.log.length = 0;
    const stopped: Failure = {
      kind: "Underlay",
      name: "u",
      namespace: "openperouter-system",
      reason: "ValidationFailed",
      field: "spec.nics",
      message: "Interface eth7 not present on node",
      class: "Permanent",
    };
    const { live } = await act({ ...asked(undefined), stopped }, lastGood, ground);
    expect(ground.log).toEqual([]);
    expect([...live.keys()]).toEqual(["Underlay/u", "L2VNI/red"]);
  });

  test("that is refused holds in its old form, and VNIs wait", async () => {
    await pass(underlay(), l2vni("red", 100), l2vni("old", 102));
    ground.refused.add("router/eth2");
    ground.log.length = 0;
    const { stopped, live } = await pass(underlay(64514, "eth2", "u", { generation: 2 }), l2vni("red", 100), l2vni("new", 101));
    expect(stopped?.message).toBe("eth2: RTNETLINK answers: Operation not supported");
    expect(Object.fromEntries(live)).toEqual({ "Underlay/u": 1, "L2VNI/red": 1, "L2VNI/old": 1 });
    expect(ground.has("router", "eth1", "vni100", "vni102")).toBe(true);
    expect(ground.log).toEqual([]);
    expect(ground.links.router.has("vni101")).toBe(false);
  });

  test("whose interface cuts the node off is undone, and the interface moved back", async () => {
    ground.answers = false;
    const { stopped } = await pass(underlay());
    expect(stopped?.message).toBe("The API server did not answer after interface eth1 was moved, so it was moved back");
    expect(ground.has("host", "eth1")).toBe(true);
    expect([...ground.fragments.keys()]).toEqual(["Router/base"]);
  });

  test("on another interface has the new one before the old one goes back", async () => {
    await pass(underlay());
    ground.log.length = 0;
    await pass(underlay(64514, "eth2", "u", { generation: 2 }));
    expect(ground.log).toEqual(["link router/eth2", "asked the API", "unlink router/eth1"]);
    expect(ground.has("host", "eth1")).toBe(true);
  });

  test("with another AS number is a rebuild that is announced, and everything comes back", async () => {
    await pass(underlay(), l2vni("red", 100));
    const { failures, changes } = await pass(underlay(64999, "eth1", "u", { generation: 2 }), l2vni("red", 100));
    expect(failures).toEqual([]);
    expect(changes.filter(({ drift }) => drift)).toEqual([]);
    expect(ground.rebuilt).toEqual([new Set(["Underlay/u", "L2VNI/red"])]);
    expect([...ground.fragments.keys()]).toEqual(["Router/base", "Underlay/u", "L2VNI/red"]);
  });

  test("with another AS number that FRR refuses is set up as it was", async () => {
    await pass(underlay(), l2vni("red", 100));
    ground.refused.add("router bgp 64999");
    const { stopped } = await pass(underlay(64999, "eth1", "u", { generation: 2 }), l2vni("red", 100));
    expect(stopped?.message).toContain("router bgp 64999");
    expect([...ground.fragments.keys()]).toEqual(["Router/base", "Underlay/u", "L2VNI/red"]);
    expect(lastGood.get("Underlay/u")?.generation).toBe(1);
  });

  test("that was replaced by another of the same form keeps its links all along", async () => {
    await pass(underlay());
    ground.log.length = 0;
    await pass(underlay(64514, "eth1", "v"));
    expect(ground.log.filter((entry) => entry.startsWith("unlink"))).toEqual([]);
    expect([...lastGood.keys()]).toEqual(["Underlay/v"]);
  });
});

describe("what goes", () => {
  test("a deleted resource leaves nothing, and takes nothing of its siblings with it", async () => {
    await pass(underlay(), l2vni("a", 100, "red"), l2vni("b", 101, "red"));
    await pass(underlay(), l2vni("b", 101, "red"));
    expect(ground.has("router", "vni100")).toBe(false);
    expect(ground.has("router", "red", "vni101")).toBe(true);
    expect([...lastGood.keys()]).toEqual(["Underlay/u", "L2VNI/b"]);
  });

  test("a resource under a new name takes over what the old one had, without a break", async () => {
    await pass(underlay(), l2vni("old", 100, "red"));
    ground.log.length = 0;
    await pass(underlay(), l2vni("new", 100, "red"));
    expect(ground.log.filter((entry) => entry.startsWith("unlink"))).toEqual([]);
    expect([...ground.fragments.keys()]).toEqual(["Router/base", "Underlay/u", "L2VNI/new"]);
  });

  test("what is gone makes room before others come", async () => {
    await pass(underlay(), l3vni("a", 100, "red"));
    ground.log.length = 0;
    await pass(underlay(), l3vni("b", 200, "red"));
    expect(ground.log.indexOf("unlink router/vni100")).toBeLessThan(ground.log.indexOf("link router/vni200"));
  });

  test("without an Underlay VNIs go first, then the Underlay, and the interface is back on the host", async () => {
    await pass(underlay(), l2vni("red", 100));
    ground.log.length = 0;
    await pass(undefined);
    expect(ground.log.filter((entry) => entry.startsWith("gone"))).toEqual(["gone L2VNI/red", "gone Underlay/u"]);
    expect([...ground.links.router.keys()]).toEqual([]);
    expect(ground.has("host", "eth1")).toBe(true);
    expect(lastGood.size).toBe(0);
  });

  test("links with our mark that nobody remembers go; those of a resource that fails now stay", async () => {
    ground.links.router.set("vni7", { name: "vni7", alias: "plumbline:L2VNI/lost", type: "vxlan", as: "" });
    ground.links.router.set("vni8", { name: "vni8", alias: "plumbline:L2VNI/failing", type: "vxlan", as: "" });
    ground.links.router.set("green", { name: "green", alias: "plumbline:VRF/green", type: "vrf", as: "" });
    ground.links.router.set("br-person", { name: "br-person", alias: "", type: "bridge", as: "" });
    const failing = {
      kind: "L2VNI",
      name: "failing",
      namespace: "",
      reason: "ValidationFailed",
      field: "",
      message: "",
      class: "Permanent",
    } as const;
    await act({ ...asked(underlay()), failures: [failing] }, lastGood, ground);
    expect([...ground.links.router.keys()]).toEqual(["vni8", "green", "br-person", "eth1", "lound"]);
  });

  test("a link whose creator was killed before it could mark it goes too", async () => {
    ground.links.router.set("vni7", { name: "vni7", alias: "", group: "7017", type: "vxlan", as: "" });
    ground.links.router.set("green", { name: "green", alias: "plumbline:VRF/green", type: "vrf", as: "" });
    await pass(underlay());
    expect([...ground.links.router.keys()]).toEqual(["eth1", "lound"]);
  });
});

test("what a person changed is put back, and told apart from what was asked for", async () => {
  await pass(underlay(), l2vni("red", 100));
  ground.links.router.delete("vni100");
  const { changes } = await pass(underlay(), l2vni("red", 100, "red"), l2vni("blue", 101));
  expect(changes).toEqual([
    { owner: "L2VNI/red", links: 1, lines: 0, drift: true },
    { owner: "L2VNI/blue", links: 4, lines: 2, drift: false },
  ]);
});

test("whatever is asked and whatever is refused, everyone else has exactly what they ask for", async () => {
  const vnis = fc.uniqueArray(
    fc.record({ name: fc.constantFrom("a", "b", "c", "d"), vni: fc.integer({ min: 1, max: 6 }), vrf: fc.constantFrom("red", "blue") }),
    {
      selector: ({ name }) => name,
    },
  );
  const wish = fc.record({
    vnis,
    refused: fc.subarray(["router/vni1", "router/vni2", "network 10.3.0.0/24", "network 10.4.0.0/24", "host/host-5"]),
  });

  await fc.assert(
    fc.asyncProperty(fc.array(wish, { minLength: 1, maxLength: 6 }), async (wishes) => {
      ground = new GroundInMemory();
      lastGood = new Map();
      for (const [nth, { vnis, refused }] of wishes.entries()) {
        ground.refused.clear();
        for (const what of refused) ground.refused.add(what);
        // One VNI belongs to one resource: that much the plan has settled.
        const held = new Set<number>();
        const steps = vnis
          .filter(({ vni }) => !held.has(vni) && held.add(vni))
          .map(({ name, vni, vrf }) => l2vni(name, vni, vrf, { generation: nth }))
          .filter(({ owner, form }) => {
            const others = [...lastGood].filter(([other]) => other !== owner).flatMap(([, good]) => good.form.links);
            return !form.links.some((link) => link.owner === owner && others.some(({ name }) => name === link.name));
          });
        const { failures } = await pass(underlay(), ...steps);

        const failed = new Set(failures.map(({ kind, name }) => `${kind}/${name}`));
        for (const { owner, form } of steps) {
          if (failed.has(owner)) continue;
          expect(lastGood.get(owner)?.form).toEqual(form);
        }
        // What is there is what is live, no more and no less.
        const wanted = new Set([...lastGood.values()].flatMap(({ form }) => form.links.map(({ place, name }) => `${place}/${name}`)));
        const there = (["host", "router"] as const).flatMap((place) => [...ground.links[place].keys()].map((name) => `${place}/${name}`));
        expect(new Set(there)).toEqual(wanted);
        const configured = [["Router/base", { form: { fragment: ground.base } }] as const, ...lastGood].map(
          ([owner, { form }]) => [owner, form.fragment] as const,
        );
        expect(Object.fromEntries(ground.fragments)).toEqual(Object.fromEntries(configured));

        // And once nothing is refused any more, the second pass from here costs nothing.
        ground.refused.clear();
        await pass(underlay(), ...steps);
        ground.log.length = 0;
        await pass(underlay(), ...steps);
        expect(ground.log).toEqual([]);
      }
    }),
    { seed: 3, numRuns: 300 },
  );
});

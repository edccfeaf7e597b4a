import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { DesiredLink } from "../hostnet/desired-link.ts";
import type { Failure } from "../resilience/failure.ts";
import { act } from "./act.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { MemoryBackends } from "./testing/memory-backends.ts";
import type { RouterPlan } from "./plan.ts";
import type { RouterKind, ResourceStep } from "./model/step.ts";

let backends: MemoryBackends;
let lastGood: Map<string, LastGoodResource>;
beforeEach(() => {
  backends = new MemoryBackends();
  backends.links.host.set("eth1", { name: "eth1", alias: "", type: "nic", as: "" });
  lastGood = new Map();
});

const link = (netns: "host" | "router", name: string, owner: string, more: Partial<DesiredLink> = {}) =>
  ({ netns, name, owner, type: "bridge", ...more }) as DesiredLink;

const step = (kind: RouterKind, name: string, rendered: ResourceStep["rendered"], more: Partial<ResourceStep> = {}): ResourceStep => ({
  owner: `${kind}/${name}`,
  kind,
  name,
  namespace: "openperouter-system",
  uid: `uid-${kind}-${name}`,
  generation: 1,
  spec: {},
  state: "current",
  rendered,
  ...more,
});

const underlay = (asn = 64514, nic = "eth1", name = "u", more: Partial<ResourceStep> = {}): ResourceStep => {
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

const l2vni = (name: string, vni: number, vrf = name, more: Partial<ResourceStep> = {}): ResourceStep => {
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

const l3vni = (name: string, vni: number, vrf = name, more: Partial<ResourceStep> = {}): ResourceStep => {
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

const planOf = (underlay: ResourceStep | undefined, ...steps: ResourceStep[]): RouterPlan => ({
  underlay,
  steps,
  failures: [],
  selected: [...(underlay ? [underlay] : []), ...steps].map(({ kind, name, generation }) => ({ kind, name, generation })),
});

const pass = (underlay: ResourceStep | undefined, ...steps: ResourceStep[]) => act(planOf(underlay, ...steps), lastGood, backends);

const messages = (failures: readonly Failure[]) =>
  failures.map(({ kind, name, reason, message }) => `${kind}/${name} ${reason}: ${message}`);

describe("from an empty node", () => {
  test("the EVPN instance is in FRR before the first link of a VNI", async () => {
    const { failures, live } = await pass(underlay(), l2vni("red", 100));
    expect(failures).toEqual([]);
    expect(Object.fromEntries(live)).toEqual({ "Underlay/u": 1, "L2VNI/red": 1 });
    expect(backends.log).toEqual([
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
    backends.log.length = 0;
    const { changes, failures } = await pass(underlay(), l2vni("red", 100), l3vni("red", 200));
    expect({ changes, failures, log: backends.log }).toEqual({ changes: [], failures: [], log: [] });
  });

  test("no Underlay and nothing else is an empty router", async () => {
    expect(await pass(undefined)).toMatchObject({ failures: [], changes: [{ owner: "Router/base", links: 0, lines: 1, drift: false }] });
  });
});

describe("a step that is rejected", () => {
  test("by the kernel is rolled back alone, with the kernel's message, and the next is applied", async () => {
    backends.rejects.add("router/vni100");
    const { failures, live } = await pass(underlay(), l2vni("red", 100), l2vni("blue", 101));
    expect(messages(failures)).toEqual(["L2VNI/red ApplicationFailed: vni100: RTNETLINK answers: Operation not supported"]);
    expect([...live.keys()]).toEqual(["Underlay/u", "L2VNI/blue"]);
    expect(backends.has("router", "blue", "br-pe-101", "vni101")).toBe(true);
    expect(backends.links.router.has("br-pe-100")).toBe(false);
    expect(backends.links.router.has("red")).toBe(false);
  });

  test("by FRR leaves no link behind, and names line and daemon", async () => {
    backends.rejects.add("vni 200");
    const { failures } = await pass(underlay(), l2vni("red", 100), l3vni("red", 200));
    expect(messages(failures)).toEqual(['L3VNI/red ApplicationFailed: bgpd rejected "vni 200": % Unknown command']);
    expect(backends.links.router.has("vni200")).toBe(false);
    expect(backends.has("router", "red", "vni100")).toBe(true);
  });

  test("keeps a VRF that a sibling uses", async () => {
    await pass(underlay(), l2vni("a", 100, "red"));
    backends.rejects.add("router/vni101");
    await pass(underlay(), l2vni("a", 100, "red"), l2vni("b", 101, "red"));
    expect(backends.has("router", "red", "vni100")).toBe(true);
  });

  test("keeps its last good version, links and lines, and reports the live generation", async () => {
    await pass(underlay(), l2vni("red", 100));
    backends.rejects.add("network 10.111.0.0/24");
    const { live, failures } = await pass(underlay(), l2vni("red", 111, "red", { generation: 2 }));
    expect(failures).toHaveLength(1);
    expect(live.get("L2VNI/red")).toBe(1);
    expect(backends.has("router", "red", "br-pe-100", "vni100")).toBe(true);
    expect(backends.links.router.has("vni111")).toBe(false);
    expect(backends.fragments.get("L2VNI/red")?.lines[0]?.inside).toEqual([{ line: "network 10.100.0.0/24" }]);
  });

  test("that was live and cannot be restored is not live, and is retried", async () => {
    await pass(underlay(), l2vni("red", 100));
    backends.links.router.delete("vni100");
    backends.rejects.add("router/vni100");
    const { live, failures } = await pass(underlay(), l2vni("red", 100));
    expect(failures).toHaveLength(1);
    expect(live.has("L2VNI/red")).toBe(false);
    expect(lastGood.has("L2VNI/red")).toBe(true);
    backends.rejects.clear();
    expect((await pass(underlay(), l2vni("red", 100))).live.get("L2VNI/red")).toBe(1);
  });

  test("of a recreated object leaves nothing of the old one", async () => {
    await pass(underlay(), l2vni("red", 100));
    backends.rejects.add("network 10.111.0.0/24");
    const { live } = await pass(underlay(), l2vni("red", 111, "red", { uid: "another" }));
    expect(live.has("L2VNI/red")).toBe(false);
    expect(backends.has("router", "vni100")).toBe(false);
    expect(backends.fragments.has("L2VNI/red")).toBe(false);
  });

  test("never shows a password", async () => {
    backends.rejects.add("neighbor 192.0.2.1 password s3cret");
    const rendered = { fragment: { owner: "Underlay/u", lines: [{ line: "neighbor 192.0.2.1 password s3cret" }] }, links: [] };
    const { failures } = await pass(step("Underlay", "u", rendered));
    expect(failures[0]?.message).toBe('bgpd rejected "neighbor 192.0.2.1 password ***": % Unknown command');
  });
});

describe("the Underlay", () => {
  test("that fails validation stops everything: nothing is changed or removed", async () => {
    await pass(underlay(), l2vni("red", 100));
    backends.log.length = 0;
    const stopped: Failure = {
      kind: "Underlay",
      name: "u",
      namespace: "openperouter-system",
      reason: "ValidationFailed",
      field: "spec.nics",
      message: "Interface eth7 not present on node",
      class: "Permanent",
    };
    const { live } = await act({ ...planOf(undefined), stopped }, lastGood, backends);
    expect(backends.log).toEqual([]);
    expect([...live.keys()]).toEqual(["Underlay/u", "L2VNI/red"]);
  });

  test("that is rejected keeps its old version, and VNIs wait", async () => {
    await pass(underlay(), l2vni("red", 100), l2vni("old", 102));
    backends.rejects.add("router/eth2");
    backends.log.length = 0;
    const { stopped, live } = await pass(underlay(64514, "eth2", "u", { generation: 2 }), l2vni("red", 100), l2vni("new", 101));
    expect(stopped?.message).toBe("eth2: RTNETLINK answers: Operation not supported");
    expect(Object.fromEntries(live)).toEqual({ "Underlay/u": 1, "L2VNI/red": 1, "L2VNI/old": 1 });
    expect(backends.has("router", "eth1", "vni100", "vni102")).toBe(true);
    expect(backends.log).toEqual([]);
    expect(backends.links.router.has("vni101")).toBe(false);
  });

  test("whose interface disconnects the node is rolled back, and the interface is moved back", async () => {
    backends.answers = false;
    const { stopped } = await pass(underlay());
    expect(stopped?.message).toBe("Moved interface eth1 back: the API server did not answer after the move");
    expect(backends.has("host", "eth1")).toBe(true);
    expect([...backends.fragments.keys()]).toEqual(["Router/base"]);
  });

  test("with another interface moves the new one before the old one goes back", async () => {
    await pass(underlay());
    backends.log.length = 0;
    await pass(underlay(64514, "eth2", "u", { generation: 2 }));
    expect(backends.log).toEqual(["link router/eth2", "asked the API", "unlink router/eth1"]);
    expect(backends.has("host", "eth1")).toBe(true);
  });

  test("with another AS number is reported as a rebuild, and everything is restored", async () => {
    await pass(underlay(), l2vni("red", 100));
    const { failures, changes } = await pass(underlay(64999, "eth1", "u", { generation: 2 }), l2vni("red", 100));
    expect(failures).toEqual([]);
    expect(changes.filter(({ drift }) => drift)).toEqual([]);
    expect(backends.rebuilt).toEqual([new Set(["Underlay/u", "L2VNI/red"])]);
    expect([...backends.fragments.keys()]).toEqual(["Router/base", "Underlay/u", "L2VNI/red"]);
  });

  test("with another AS number that FRR rejects is restored", async () => {
    await pass(underlay(), l2vni("red", 100));
    backends.rejects.add("router bgp 64999");
    const { stopped } = await pass(underlay(64999, "eth1", "u", { generation: 2 }), l2vni("red", 100));
    expect(stopped?.message).toContain("router bgp 64999");
    expect([...backends.fragments.keys()]).toEqual(["Router/base", "Underlay/u", "L2VNI/red"]);
    expect(lastGood.get("Underlay/u")?.generation).toBe(1);
  });

  test("that is replaced by an equal one keeps its links", async () => {
    await pass(underlay());
    backends.log.length = 0;
    await pass(underlay(64514, "eth1", "v"));
    expect(backends.log.filter((entry) => entry.startsWith("unlink"))).toEqual([]);
    expect([...lastGood.keys()]).toEqual(["Underlay/v"]);
  });
});

describe("removal", () => {
  test("of a resource is complete and does not affect its siblings", async () => {
    await pass(underlay(), l2vni("a", 100, "red"), l2vni("b", 101, "red"));
    await pass(underlay(), l2vni("b", 101, "red"));
    expect(backends.has("router", "vni100")).toBe(false);
    expect(backends.has("router", "red", "vni101")).toBe(true);
    expect([...lastGood.keys()]).toEqual(["Underlay/u", "L2VNI/b"]);
  });

  test("of a resource that is renamed keeps its links and lines without interruption", async () => {
    await pass(underlay(), l2vni("old", 100, "red"));
    backends.log.length = 0;
    await pass(underlay(), l2vni("new", 100, "red"));
    expect(backends.log.filter((entry) => entry.startsWith("unlink"))).toEqual([]);
    expect([...backends.fragments.keys()]).toEqual(["Router/base", "Underlay/u", "L2VNI/new"]);
  });

  test("happens before new resources are applied", async () => {
    await pass(underlay(), l3vni("a", 100, "red"));
    backends.log.length = 0;
    await pass(underlay(), l3vni("b", 200, "red"));
    expect(backends.log.indexOf("unlink router/vni100")).toBeLessThan(backends.log.indexOf("link router/vni200"));
  });

  test("of everything deletes VNIs first, then the Underlay, and moves the interface back to the host", async () => {
    await pass(underlay(), l2vni("red", 100));
    backends.log.length = 0;
    await pass(undefined);
    expect(backends.log.filter((entry) => entry.startsWith("gone"))).toEqual(["gone L2VNI/red", "gone Underlay/u"]);
    expect([...backends.links.router.keys()]).toEqual([]);
    expect(backends.has("host", "eth1")).toBe(true);
    expect(lastGood.size).toBe(0);
  });

  test("includes links with our alias but without an owner; those of a failing resource stay", async () => {
    backends.links.router.set("vni7", { name: "vni7", alias: "plumbline:L2VNI/lost", type: "vxlan", as: "" });
    backends.links.router.set("vni8", { name: "vni8", alias: "plumbline:L2VNI/failing", type: "vxlan", as: "" });
    backends.links.router.set("green", { name: "green", alias: "plumbline:VRF/green", type: "vrf", as: "" });
    backends.links.router.set("br-person", { name: "br-person", alias: "", type: "bridge", as: "" });
    const failing = {
      kind: "L2VNI",
      name: "failing",
      namespace: "",
      reason: "ValidationFailed",
      field: "",
      message: "",
      class: "Permanent",
    } as const;
    await act({ ...planOf(underlay()), failures: [failing] }, lastGood, backends);
    expect([...backends.links.router.keys()]).toEqual(["vni8", "green", "br-person", "eth1", "lound"]);
  });

  test("includes a link whose creator was killed before it set the alias", async () => {
    backends.links.router.set("vni7", { name: "vni7", alias: "", group: "7017", type: "vxlan", as: "" });
    backends.links.router.set("green", { name: "green", alias: "plumbline:VRF/green", type: "vrf", as: "" });
    await pass(underlay());
    expect([...backends.links.router.keys()]).toEqual(["eth1", "lound"]);
  });
});

test("repairs drift, and distinguishes it from requested changes", async () => {
  await pass(underlay(), l2vni("red", 100));
  backends.links.router.delete("vni100");
  const { changes } = await pass(underlay(), l2vni("red", 100, "red"), l2vni("blue", 101));
  expect(changes).toEqual([
    { owner: "L2VNI/red", links: 1, lines: 0, drift: true },
    { owner: "L2VNI/blue", links: 4, lines: 2, drift: false },
  ]);
});

test("whatever is rejected, all other resources are applied exactly", async () => {
  const vnis = fc.uniqueArray(
    fc.record({ name: fc.constantFrom("a", "b", "c", "d"), vni: fc.integer({ min: 1, max: 6 }), vrf: fc.constantFrom("red", "blue") }),
    {
      selector: ({ name }) => name,
    },
  );
  const request = fc.record({
    vnis,
    rejected: fc.subarray(["router/vni1", "router/vni2", "network 10.3.0.0/24", "network 10.4.0.0/24", "host/host-5"]),
  });

  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 6 }), async (requests) => {
      backends = new MemoryBackends();
      lastGood = new Map();
      for (const [nth, { vnis, rejected }] of requests.entries()) {
        backends.rejects.clear();
        for (const what of rejected) backends.rejects.add(what);
        // One VNI belongs to one resource: that much the plan has settled.
        const used = new Set<number>();
        const steps = vnis
          .filter(({ vni }) => !used.has(vni) && used.add(vni))
          .map(({ name, vni, vrf }) => l2vni(name, vni, vrf, { generation: nth }))
          .filter(({ owner, rendered }) => {
            const others = [...lastGood].filter(([other]) => other !== owner).flatMap(([, good]) => good.rendered.links);
            return !rendered.links.some((link) => link.owner === owner && others.some(({ name }) => name === link.name));
          });
        const { failures } = await pass(underlay(), ...steps);

        const failed = new Set(failures.map(({ kind, name }) => `${kind}/${name}`));
        for (const { owner, rendered } of steps) {
          if (failed.has(owner)) continue;
          expect(lastGood.get(owner)?.rendered).toEqual(rendered);
        }
        // What is there is what is live, no more and no less.
        const wanted = new Set(
          [...lastGood.values()].flatMap(({ rendered }) => rendered.links.map(({ netns, name }) => `${netns}/${name}`)),
        );
        const there = (["host", "router"] as const).flatMap((netns) => [...backends.links[netns].keys()].map((name) => `${netns}/${name}`));
        expect(new Set(there)).toEqual(wanted);
        const configured = [["Router/base", { rendered: { fragment: backends.base } }] as const, ...lastGood].map(
          ([owner, { rendered }]) => [owner, rendered.fragment] as const,
        );
        expect(Object.fromEntries(backends.fragments)).toEqual(Object.fromEntries(configured));

        // And once nothing is rejected any more, the second pass from here costs nothing.
        backends.rejects.clear();
        await pass(underlay(), ...steps);
        backends.log.length = 0;
        await pass(underlay(), ...steps);
        expect(backends.log).toEqual([]);
      }
    }),
    { seed: 3, numRuns: 300 },
  );
});

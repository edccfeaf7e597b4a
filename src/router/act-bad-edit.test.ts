import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { KubeObject } from "../api/kind.ts";
import type { L2VNI } from "../api/openpe/l2vni.ts";
import type { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../api/openpe/l3vni.ts";
import type { Underlay } from "../api/openpe/underlay.ts";
import { recordClaims } from "../resilience/claim-record.ts";
import { act } from "./act.ts";
import type { RouterApplyResult } from "./pass-record.ts";
import { type ClaimOwner, claimsOf } from "./claims/claims.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { MemoryBackends } from "./testing/memory-backends.ts";
import { desiredLinePaths } from "../frr/fragment-lines.ts";
import type { ObservedNode, RouterObjects } from "./model/observed.ts";
import { plan, type RouterPlan } from "./plan.ts";
import { hostSession, l2vni, l3vni, observed, passthrough, rawConfig, underlay } from "./testing/fixtures.ts";

// The promise itself: a node that works, one edit of one resource, and something that rejects part of it.

const vrf = fc.constantFrom("red", "blue", "vni101", "much-too-long-a-name");
const vni = fc.constantFrom(0, 100, 101, 102, 200, 201, 202);
const localcidr = fc.constantFrom("192.169.1.0/24", "192.169.2.0/24", "192.169.1.128/25", "192.0.2.0/28", "nonsense");
const session = fc.option(localcidr, { nil: undefined }).map((cidr) => cidr && { hostsession: hostSession(cidr) });
const gateways = fc.subarray(["10.1.0.1/24", "10.2.0.1/24", "10.1.0.2/25", "2001:db8:1::1/64", "10.1.0.0.1"], { maxLength: 2 });
const bridge = fc
  .constantFrom(undefined, "br0", "br9")
  .map((name) => name && { hostmaster: { type: "linux-bridge" as const, linuxBridge: { name, autoCreate: false } } });
const autoBridge = fc.constant({ hostmaster: { type: "linux-bridge" as const, linuxBridge: { autoCreate: true } } });

const specs = {
  Underlay: fc.record({
    asn: fc.constantFrom(64514, 64999, 0),
    nics: fc.constantFrom(["eth1"], ["eth2"], ["eth9"], ["eth0"]),
    neighbors: fc.constantFrom([{ asn: 64512, address: "192.168.11.2" }], [{ asn: 64513, address: "192.168.12.2" }], []),
    evpn: fc.constantFrom({ vtepcidr: "100.65.0.0/24" }, { vtepcidr: "100.66.0.0/24" }, { vtepcidr: "x" }),
  }),
  L2VNI: fc
    .tuple(vni, vrf, gateways, fc.oneof(bridge, autoBridge))
    .map(([vni, vrf, l2gatewayips, master]) => Object.assign({ vni, vrf, l2gatewayips }, master)),
  L3VNI: fc
    .tuple(vni, vrf, session, fc.constantFrom("", "64514:7", "65000:101", "bad"))
    .map(([vni, vrf, hostsession, target]) => Object.assign({ vni, vrf, exportRTs: target === "" ? [] : [target] }, hostsession)),
  L3Passthrough: localcidr.map((cidr) => ({ hostsession: hostSession(cidr) })),
  RawFRRConfig: fc.constantFrom("ip prefix-list a permit any", "ip prefix-list b permit any", " ").map((rawConfig) => ({ rawConfig })),
};

const site = fc.record({
  l2vnis: fc.array(specs.L2VNI, { maxLength: 4 }),
  l3vnis: fc.array(specs.L3VNI, { maxLength: 3 }),
  passthroughs: fc.array(specs.L3Passthrough, { maxLength: 1 }),
});

const objectsOf = ({ l2vnis, l3vnis, passthroughs }: typeof site extends fc.Arbitrary<infer T> ? T : never): RouterObjects => ({
  underlays: [recorded("Underlay", underlay())],
  l2vnis: l2vnis.map((spec, nth) => recorded("L2VNI", l2vni(`l2-${nth}`, spec, { hour: nth }))),
  l3vnis: l3vnis.map((spec, nth) => recorded("L3VNI", l3vni(`l3-${nth}`, spec, { hour: nth }))),
  passthroughs: passthroughs.map(({ hostsession }, nth) => recorded("L3Passthrough", passthrough(`p-${nth}`, hostsession))),
  rawConfigs: [rawConfig("raw", "ip prefix-list a permit any")],
});

function recorded<T extends Underlay | L2VNI | L3VNI | L3Passthrough>(kind: ClaimOwner["kind"], object: T): T {
  const created = new Date(object.metadata.creationTimestamp ?? 0);
  const claims = recordClaims(claimsOf({ kind, object } as ClaimOwner, undefined), [], { created, now: created, release: false });
  return { ...object, status: { claims } };
}

const LISTS = {
  Underlay: "underlays",
  L2VNI: "l2vnis",
  L3VNI: "l3vnis",
  L3Passthrough: "passthroughs",
  RawFRRConfig: "rawConfigs",
} as const;
const edit = fc.oneof(
  ...(["Underlay", "L2VNI", "L3VNI", "L3Passthrough", "RawFRRConfig"] as const).map((kind) =>
    fc.record({ kind: fc.constant(kind), nth: fc.nat(3), spec: specs[kind] as fc.Arbitrary<object>, rejection: fc.option(fc.nat()) }),
  ),
);

function edited(objects: RouterObjects, kind: keyof typeof LISTS, nth: number, spec: object): { objects: RouterObjects; name: string } {
  const list = objects[LISTS[kind]] as readonly (KubeObject & { spec: object })[];
  const at = nth % list.length;
  const object = list[at] as (typeof list)[number];
  const { name, generation = 1 } = object.metadata;
  // As a whole, as `kubectl replace` does; what is not told stays as the API server fills it in.
  const base = kind === "Underlay" || kind === "RawFRRConfig" ? object.spec : { vxlanport: 4789 };
  const next = { ...object, metadata: { ...object.metadata, generation: generation + 1 }, spec: { ...base, ...spec } };
  return { objects: { ...objects, [LISTS[kind]]: list.with(at, next) }, name };
}

const interfaces: ObservedNode["interfaces"] = {
  host: [
    { name: "eth0", addresses: ["192.0.2.1/24"] },
    { name: "eth1", addresses: ["192.168.11.4/24"] },
    { name: "eth2", addresses: ["192.168.12.4/24"] },
    { name: "br0", addresses: [], kind: "bridge" },
  ],
  router: [],
};

class Machine {
  readonly backends = new MemoryBackends();
  readonly lastGood = new Map<string, LastGoodResource>();

  constructor() {
    for (const name of ["eth0", "eth1", "eth2"]) this.backends.links.host.set(name, { name, alias: "", type: "nic", as: "" });
  }

  plan(objects: RouterObjects): RouterPlan {
    return plan(observed(objects, { interfaces, lastGood: this.lastGood }));
  }

  async pass(objects: RouterObjects): Promise<{ failing: Map<string, string>; done: RouterApplyResult; stopped: boolean }> {
    const planned = this.plan(objects);
    const done = await act(planned, this.lastGood, this.backends);
    const failing = new Map([...planned.failures, ...done.failures].map(({ kind, name, message }) => [`${kind}/${name}`, message]));
    return { failing, done, stopped: planned.stopped !== undefined || done.stopped !== undefined };
  }

  /** The state of another agent; it ignores lines in FRR that it does not know. */
  recall(remembered: readonly [string, LastGoodResource][]): void {
    this.lastGood.clear();
    for (const [owner, good] of remembered) this.lastGood.set(owner, good);
    const { fragments, base } = this.backends;
    for (const owner of fragments.keys()) if (owner !== base.owner && !this.lastGood.has(owner)) fragments.delete(owner);
  }

  /** All that is live, in the kernel, in FRR and by our own account, but for the order. */
  get picture(): object {
    const { links, fragments } = this.backends;
    const generations = [...this.lastGood].map(([owner, { generation }]) => [owner, generation] as const);
    return {
      host: Object.fromEntries(links.host),
      router: Object.fromEntries(links.router),
      fragments: Object.fromEntries([...fragments].filter(([, { lines }]) => lines.length > 0)),
      generations: Object.fromEntries(generations),
    };
  }
}

const last = (path: string) => path.slice(path.lastIndexOf("\n") + 1);

/** What only the new form of a resource has, so that its rejection is its own affair. */
function refusable(machine: Machine, planned: RouterPlan, owner: string): string[] {
  const step = [...(planned.underlay ? [planned.underlay] : []), ...planned.steps].find((one) => one.owner === owner);
  if (!step) return [];
  const others = [...planned.steps, ...(planned.underlay ? [planned.underlay] : [])].filter((one) => one !== step);
  const known = new Set(
    [...desiredLinePaths([...machine.backends.fragments.values(), ...others.map(({ rendered }) => rendered.fragment)])].map((path) =>
      last(path),
    ),
  );
  const taken = new Set(others.flatMap(({ rendered }) => rendered.links.map(({ netns, name }) => `${netns}/${name}`)));
  const links = step.rendered.links.map(({ netns, name }) => `${netns}/${name}`);
  const fresh = links.filter((key) => !taken.has(key) && !machine.backends.has(...(key.split("/") as ["host" | "router", string])));
  return [...fresh, ...[...desiredLinePaths([step.rendered.fragment])].map(last).filter((line) => !known.has(line))];
}

/** Who of the others may be, and in which form. */
function decisions({ steps }: RouterPlan, edited: string): unknown {
  return steps.filter(({ owner }) => owner !== edited).map(({ owner, generation, state }) => ({ owner, generation, state }));
}

test("a failed edit changes nothing and is reported; once it is fixed everything is applied", async () => {
  let failed = 0;
  let rejected = 0;
  await fc.assert(
    fc.asyncProperty(site, edit, async (wanted, { kind, nth, spec, rejection }) => {
      const objects = objectsOf(wanted);
      fc.pre(objects[LISTS[kind]].length > 0);
      const machine = new Machine();
      await machine.pass(objects);
      await machine.pass(objects);
      const before = machine.picture;

      const { objects: next, name } = edited(objects, kind, nth, spec);
      const owner = `${kind}/${name}`;
      const wasLive = machine.lastGood.has(owner);
      const isAlone = isDeepStrictEqual(decisions(machine.plan(objects), owner), decisions(machine.plan(next), owner));
      const choices = refusable(machine, machine.plan(next), owner);
      const picked = rejection === null ? undefined : choices[rejection % choices.length];
      if (picked !== undefined) {
        machine.backends.rejects.add(picked);
        rejected += 1;
      }
      const { failing, done, stopped } = await machine.pass(next);

      const resources = Object.entries(LISTS).flatMap(([of, list]) =>
        next[list].map(({ metadata }) => [`${of}/${metadata.name}`, metadata.generation] as const),
      );
      const untold = resources.filter(([one]) => !failing.has(one) && !(stopped && !one.startsWith("Underlay/")));
      expect(untold.filter(([one, generation]) => done.live.get(one) !== generation)).toEqual([]);

      const hasFailed = wasLive && failing.has(owner);
      failed += Number(hasFailed);
      expect(hasFailed && (isAlone || stopped) ? machine.picture : before).toEqual(before);
      // Where others would have gained or lost by it, it is itself at least what it was.
      expect(hasFailed ? machine.lastGood.get(owner)?.generation : 1).toBe(1);

      machine.backends.rejects.clear();
      await machine.pass(objects);
      expect((await machine.pass(objects)).done.changes).toEqual([]);
    }),
    { seed: 5, numRuns: 400 },
  );
  expect(failed).toBeGreaterThan(30);
  expect(rejected).toBeGreaterThan(30);
}, 120_000);

test("the next pass completes a pass that was aborted or killed at any point", async () => {
  let broken = 0;
  await fc.assert(
    fc.asyncProperty(site, fc.array(edit, { maxLength: 3 }), fc.nat(25), fc.boolean(), async (wanted, edits, breaksAfter, isKilled) => {
      const objects = objectsOf(wanted);
      const next = edits.reduce(
        (sofar, { kind, nth, spec }) => (sofar[LISTS[kind]].length > 0 ? edited(sofar, kind, nth, spec).objects : sofar),
        objects,
      );
      const [lucky, unlucky] = [new Machine(), new Machine()];
      for (const machine of [lucky, unlucky]) for (let nth = 0; nth < 2; nth++) await machine.pass(objects);
      for (let nth = 0; nth < 2; nth++) await lucky.pass(next);

      const remembered = [...unlucky.lastGood];
      unlucky.backends.breaksAfter = breaksAfter;
      await unlucky.pass(next).catch(() => (broken += 1));
      unlucky.backends.breaksAfter = Infinity;
      if (isKilled) unlucky.recall(remembered);
      for (let nth = 0; nth < 2; nth++) await unlucky.pass(next);
      expect(unlucky.picture).toEqual(lucky.picture);
    }),
    { seed: 9, numRuns: 300 },
  );
  expect(broken).toBeGreaterThan(30);
}, 120_000);

const invalid = fc.constantFrom(
  { nics: ["eth9"] },
  { asn: 0 },
  { evpn: { vtepcidr: "x" } },
  { neighbors: [{ asn: 64512, address: "192.168.11.2", passwordSecret: "deleted" }] },
);
const harm = fc.record({ reboot: fc.boolean(), links: fc.array(fc.nat(), { maxLength: 4 }), lines: fc.array(fc.nat(), { maxLength: 3 }) });

function damage({ backends }: Machine, { reboot, links, lines }: { reboot: boolean; links: number[]; lines: number[] }): void {
  const { host, router } = backends.links;
  if (reboot) {
    backends.fragments.clear();
    host.clear();
    router.clear();
    for (const name of ["eth0", "eth1", "eth2"]) host.set(name, { name, alias: "", type: "nic", as: "" });
    return;
  }
  for (const nth of links) {
    const created = [...router.keys(), ...host.keys()].filter((name) => !name.startsWith("eth"));
    const name = created[nth % created.length] ?? "";
    if (!router.delete(name)) host.delete(name);
  }
  for (const nth of lines) backends.fragments.delete([...backends.fragments.keys()][nth % backends.fragments.size] ?? "");
}

test("while the Underlay is invalid, the last good router is restored from any state of the node, and nothing else is removed", async () => {
  let rejections = 0;
  await fc.assert(
    fc.asyncProperty(
      site,
      invalid,
      harm,
      fc.array(edit, { maxLength: 2 }),
      fc.option(fc.nat()),
      async (siteSpec, spec, harm, edits, rejection) => {
        const objects = objectsOf(siteSpec);
        const machine = new Machine();
        await machine.pass(objects);
        await machine.pass(objects);
        const before = machine.picture;
        const { lastGood, backends } = machine;
        const remembered = [...lastGood];
        const wanted = remembered.flatMap(([owner, { rendered }]) =>
          rendered.links.map((link) => ({ owner, key: `${link.netns}/${link.name}` })),
        );

        damage(machine, harm);
        // Whose it was is not remembered.
        backends.links.router.set("br-lost", { name: "br-lost", alias: "plumbline:L2VNI/lost", type: "bridge", as: "" });
        const rejected = rejection === null ? undefined : wanted[rejection % wanted.length]?.key;
        const isMissing = rejected !== undefined && !backends.has(...(rejected.split("/") as ["host" | "router", string]));
        if (isMissing) backends.rejects.add(rejected);
        rejections += Number(isMissing);
        backends.log.length = 0;

        const others = edits.reduce(
          (sofar, { kind, nth, spec }) =>
            kind !== "Underlay" && sofar[LISTS[kind]].length > 0 ? edited(sofar, kind, nth, spec).objects : sofar,
          objects,
        );
        const { objects: next } = edited(others, "Underlay", 0, spec);
        const { done, failing } = await machine.pass(next);
        expect(done.stopped?.name).toBe("fabric");
        expect(backends.log.filter((entry) => /^(unlink|gone|rebuild)/.test(entry))).toEqual([]);
        expect(backends.links.router.delete("br-lost")).toBe(true);
        expect([...lastGood]).toEqual(remembered);

        const incomplete = new Set(isMissing ? wanted.filter(({ key }) => key === rejected).map(({ owner }) => owner) : []);
        expect([...done.live.keys()].sort()).toEqual([...lastGood.keys()].filter((owner) => !incomplete.has(owner)).sort());
        expect(new Set(failing.keys())).toEqual(new Set(["Underlay/fabric", ...incomplete]));
        expect(isMissing ? before : machine.picture).toEqual(before);

        backends.rejects.clear();
        await machine.pass(next);
        expect(machine.picture).toEqual(before);
        await machine.pass(objects);
        expect((await machine.pass(objects)).done.changes).toEqual([]);
      },
    ),
    { seed: 6, numRuns: 300 },
  );
  expect(rejections).toBeGreaterThan(30);
}, 120_000);

test("a VRF gets the name of a VXLAN device in the pass in which that VNI is deleted", async () => {
  const backends = new MemoryBackends();
  backends.links.host.set("eth1", { name: "eth1", alias: "", type: "nic", as: "" });
  const lastGood = new Map<string, LastGoodResource>();
  const old = { underlays: [underlay()], l2vnis: [l2vni("old", { vni: 7 })] };
  await act(plan(observed(old)), lastGood, backends);
  expect(backends.links.router.get("vni7")?.type).toBe("vxlan");

  const interfaces = {
    host: [],
    router: [...backends.links.router.values()].map(({ name, type }) => ({ name, addresses: [], kind: type })),
  };
  const next = plan(observed({ ...old, l2vnis: [l2vni("new", { vni: 8, vrf: "vni7" })] }, { lastGood, interfaces }));
  const { failures } = await act(next, lastGood, backends);
  expect([...next.failures, ...failures]).toEqual([]);
  expect(backends.links.router.get("vni7")?.type).toBe("vrf");
});

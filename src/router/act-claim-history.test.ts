import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { L2VNI } from "../api/openpe/l2vni.ts";
import type { L3VNI } from "../api/openpe/l3vni.ts";
import { type Claim, claimsOverlap } from "../resilience/claim.ts";
import { recordClaims } from "../resilience/claim-record.ts";
import { act } from "./act.ts";
import { type ClaimOwner, claimsOf } from "./claims/claims.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { MemoryBackends } from "./testing/memory-backends.ts";
import type { ObservedNode } from "./model/observed.ts";
import { plan } from "./plan.ts";
import type { RejectedResources } from "./model/observed.ts";
import { planAndAct } from "./rejected-resources.ts";
import { hostSession, l2vni, l3vni, observed, underlay } from "./testing/fixtures.ts";

// Objects that come, go and change places, while the kernel and FRR reject some of it.

const NAMES = ["a", "b", "c", "d"] as const;
const name = fc.constantFrom(...NAMES);
const vni = fc.integer({ min: 1, max: 6 });
const vrf: fc.Arbitrary<string> = fc.constantFrom("red", "blue", "green");
const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("L2VNI" as const), name, vni, vrf }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("L3VNI" as const), name, vni, vrf, session: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("L2VNI" as const, "L3VNI" as const), name, gone: fc.constant(true) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("L2VNI" as const, "L3VNI" as const), name, swapsWith: name }) },
);
const rejection = fc.oneof(
  fc
    .tuple(vni, fc.constantFrom("vni", "br-pe-"), name, fc.constantFrom("L2VNI", "L3VNI"))
    .map(([vni, link, name, kind]) => `router/${link}${vni} ${kind}/${name}`),
  vrf.map((vrf) => `router/${vrf}`),
  fc.tuple(vrf, vni).map(([vrf, vni]) => `vrf ${vrf}\nvni ${vni}`),
);
const moment = fc.record({
  changes: fc.array(change, { maxLength: 3 }),
  rejected: fc.array(rejection, { maxLength: 3 }),
  minutes: fc.constantFrom(1, 11, 500),
  restarts: fc.boolean(),
  /** The kernel rejects one of those that swap. */
  rejectsSwap: fc.boolean(),
});

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
type Tenant = { kind: "L2VNI"; object: L2VNI } | { kind: "L3VNI"; object: L3VNI };

class Site {
  readonly #tenants = new Map<string, Tenant>();
  #made = 0;

  change(change: Change, now: Date): void {
    const owner = `${change.kind}/${change.name}`;
    const current = this.#tenants.get(owner);
    if ("swapsWith" in change) {
      const [one, other] = [current?.object.spec, this.#tenants.get(`${change.kind}/${change.swapsWith}`)?.object.spec];
      if (!one || !other || one === other) return;
      const { kind, name, swapsWith } = change;
      const moves = [
        [name, other],
        [swapsWith, one],
      ] as const;
      for (const [name, { vni, vrf = name }] of moves) this.change({ kind, name, vni, vrf, session: "hostsession" in one } as Change, now);
      return;
    }
    if ("gone" in change) return void this.#tenants.delete(owner);
    const generation = (current?.object.metadata.generation ?? 0) + 1;
    const uid = current?.object.metadata.uid ?? `${owner}-${(this.#made += 1)}`;
    const creationTimestamp = current?.object.metadata.creationTimestamp ?? now.toISOString();
    const { vni, vrf } = change;
    const session = "session" in change && change.session ? { hostsession: hostSession(`192.169.${NAMES.indexOf(change.name)}.0/24`) } : {};
    const object = change.kind === "L2VNI" ? l2vni(change.name, { vni, vrf }) : l3vni(change.name, { vni, vrf, ...session });
    const metadata = { ...object.metadata, generation, uid, creationTimestamp };
    const tenant = { kind: change.kind, object: { ...object, metadata } } as Tenant;
    // What it had asked for before stays recorded, as while a node runs on it.
    const claims = recordClaims(claimsOf(tenant, undefined), current?.object.status?.claims ?? [], {
      created: new Date(creationTimestamp),
      now,
      release: false,
    });
    this.#tenants.set(owner, { ...tenant, object: { ...tenant.object, status: { claims } } } as Tenant);
  }

  get(owner: string): Tenant | undefined {
    return this.#tenants.get(owner);
  }

  get objects() {
    const all = [...this.#tenants.values()];
    return {
      underlays: [underlay()],
      l2vnis: all.flatMap((one) => (one.kind === "L2VNI" ? [one.object] : [])),
      l3vnis: all.flatMap((one) => (one.kind === "L3VNI" ? [one.object] : [])),
    };
  }
}

const kindOf = (owner: string) => owner.slice(0, owner.indexOf("/"));
const nameOf = (owner: string) => owner.slice(owner.indexOf("/") + 1);

function claimsLive(owner: string, { spec }: LastGoodResource): Claim[] {
  return claimsOf({ kind: kindOf(owner), object: { metadata: { name: nameOf(owner) }, spec } } as ClaimOwner, 64514);
}

const vrfOf = (owner: string, { spec }: LastGoodResource) => (spec as { vrf?: string }).vrf ?? nameOf(owner);
const meets = (these: readonly Claim[], those: readonly Claim[]) => these.some((one) => those.some((other) => claimsOverlap(one, other)));
const interfaces: ObservedNode["interfaces"] = { host: [{ name: "eth1", addresses: ["192.168.11.4/24"] }], router: [] };

test("no value has two owners, and an owner keeps its value unless it leaves it or an older claim wins", async () => {
  let kept = 0;
  let together = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(moment, { minLength: 1, maxLength: 6 }), async (moments) => {
      const site = new Site();
      const backends = new MemoryBackends();
      backends.links.host.set("eth1", { name: "eth1", alias: "", type: "nic", as: "" });
      const lastGood = new Map<string, LastGoodResource>();
      let rejections: RejectedResources = new Map();
      let now = new Date("2026-01-02T00:00:00Z");

      for (const [nth, vrf] of ["red", "blue", "green", "red"].entries()) {
        site.change({ kind: "L2VNI", name: NAMES[nth] ?? "a", vni: nth + 1, vrf }, now);
      }
      for (const [nth, vrf] of ["red", "blue"].entries()) {
        site.change({ kind: "L3VNI", name: NAMES[nth] ?? "a", vni: nth + 5, vrf, session: false }, now);
      }
      const quiet = { changes: [], rejected: [], minutes: 1, restarts: false, rejectsSwap: false };
      for (const { changes, rejected, minutes, restarts, rejectsSwap } of [quiet, ...moments]) {
        now = new Date(now.getTime() + minutes * 60_000);
        for (const change of changes) site.change(change, now);
        backends.rejects.clear();
        for (const what of rejected) backends.rejects.add(what);
        for (const change of rejectsSwap ? changes : []) {
          const owner = `${change.kind}/${change.name}`;
          if ("swapsWith" in change) backends.rejects.add(`router/vni${site.get(owner)?.object.spec.vni} ${owner}`);
        }
        if (restarts) rejections = new Map(JSON.parse(JSON.stringify([...rejections])) as [string, never][]);
        const before = new Map(lastGood);

        const { done, planned, ...after } = await planAndAct(rejections, {
          plan: (rejections) => plan(observed(site.objects, { lastGood, interfaces, now, rejections })),
          act: (planned) => act(planned, lastGood, backends),
          live: lastGood,
          now,
        });
        rejections = after.rejections;
        together += Number([...rejections.keys()].some((owner) => lastGood.has(owner)));

        const live = [...lastGood].filter(([owner]) => owner !== "Underlay/fabric");
        for (const [nth, [owner, good]] of live.entries()) {
          for (const [other, current] of live.slice(nth + 1)) {
            expect(meets(claimsLive(owner, good), claimsLive(other, current)) ? `${owner} and ${other}` : "").toBe("");
          }
        }
        for (const [owner, good] of before) {
          const tenant = site.get(owner);
          const is = lastGood.get(owner);
          if (owner === "Underlay/fabric" || !tenant || tenant.object.metadata.uid !== good.uid) continue;
          if (is?.generation === good.generation || is?.generation === tenant.object.metadata.generation) continue;
          kept += 1;
          const taken = live.some(([other, current]) => other !== owner && meets(claimsLive(owner, good), claimsLive(other, current)));
          const hasL2VNI = live.some(([other, current]) => kindOf(other) === "L2VNI" && vrfOf(other, current) === vrfOf(owner, good));
          const isStranded = kindOf(owner) === "L3VNI" && !(good.spec as L3VNI["spec"]).hostsession && !hasL2VNI;
          expect(taken || isStranded ? "" : `${owner} is lost`).toBe("");
        }
        // Whatever is not live as asked is told.
        const reported = new Set([...planned.failures, ...done.failures].map(({ kind, name }) => `${kind}/${name}`));
        const desired = [
          ...site.objects.l2vnis.map((one) => ["L2VNI", one] as const),
          ...site.objects.l3vnis.map((one) => ["L3VNI", one] as const),
        ];
        const silent = desired.filter(([kind, { metadata }]) => {
          const owner = `${kind}/${metadata.name}`;
          return done.live.get(owner) !== metadata.generation && !reported.has(owner);
        });
        expect(silent.map(([kind, { metadata }]) => `${kind}/${metadata.name}`)).toEqual([]);
      }

      backends.rejects.clear();
      now = new Date(now.getTime() + 24 * 3_600_000);
      const passAgain = async () => {
        const { done, rejections: after } = await planAndAct(rejections, {
          plan: (rejections) => plan(observed(site.objects, { lastGood, interfaces, now, rejections })),
          act: (planned) => act(planned, lastGood, backends),
          live: lastGood,
          now,
        });
        rejections = after;
        return done;
      };
      await passAgain();
      await passAgain();
      expect((await passAgain()).changes).toEqual([]);
    }),
    { seed: 4, numRuns: 300 },
  );
  expect(kept).toBeGreaterThan(20);
  expect(together).toBeGreaterThan(10);
}, 120_000);

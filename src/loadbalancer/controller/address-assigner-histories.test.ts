import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Service } from "../../api/core/service.ts";
import { pool } from "../testing/announcement-fixtures.ts";
import type { Pool } from "../config/config.ts";
import { isOurs } from "../services/address-request.ts";
import type { AddressAssigner } from "./address-assigner.ts";
import { loaded, open, service } from "../testing/service-fixtures.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const soak = SOAK_MINUTES > 0;
/** How many histories, and from where. */
const runs = (seed: number, numRuns: number) => (soak ? { seed: Date.now() % 1_000_000, numRuns: 100 * numRuns } : { seed, numRuns });

interface Patch {
  metadata?: { annotations: Record<string, string | null> };
  status?: Service["status"];
}

type Dress = Partial<Service["spec"]> & { annotations?: Record<string, string> };
const PLAIN = service("").spec;
const BOTH = ["10.96.0.1", "fd96::1"];

/** What stands on the server, and what is on its way there. */
class World {
  readonly services = new Map<string, Service>();
  #assigner: AddressAssigner;
  #pools: readonly Pool[];
  #flying: { name: string; resourceVersion: string; patch: Patch; isGivenUp: boolean }[] = [];
  #version = 1;
  readonly #unmet = new Set<string>();
  #woken: string[] = [];

  constructor(pools: readonly Pool[]) {
    this.#pools = pools;
    this.#assigner = this.#lead();
  }

  /** A class cannot be changed: one of another class is another Service. */
  put(name: string, { annotations, ...spec }: Dress): void {
    const existing = this.services.get(name);
    const isOther = existing?.spec.loadBalancerClass !== spec.loadBalancerClass;
    const next = existing && !isOther ? existing : service(name, {}, this.#version * 1000);
    const kept = Object.entries(next.metadata.annotations ?? {}).filter(([key]) => key.endsWith("/ip-allocated-from-pool"));
    const metadata = { ...next.metadata, annotations: { ...Object.fromEntries(kept), ...annotations }, resourceVersion: this.#next() };
    this.services.set(name, { ...next, metadata, spec: { ...PLAIN, ...spec } });
  }

  remove(name: string): void {
    this.services.delete(name);
    this.#assigner.release(`shop/${name}`);
  }

  reconcile(name: string): void {
    const found = this.services.get(name);
    // The queue has no two workers at one key.
    if (!found || this.#flying.some((patch) => patch.name === name && !patch.isGivenUp)) return;
    const { patch, unmet } = this.#assigner.decide(found);
    if (unmet) this.#unmet.add(name);
    else this.#unmet.delete(name);
    if (patch) this.#flying.push({ name, resourceVersion: found.metadata.resourceVersion ?? "", patch, isGivenUp: false });
  }

  /** The controller no longer waits for the response to a write; the write may still arrive. */
  giveUp(nth: number): void {
    const write = this.#flying[nth % Math.max(1, this.#flying.length)];
    if (write) write.isGivenUp = true;
  }

  /** Writes are under way at the same time, and arrive in any order; one that comes too late is rejected. */
  land(nth: number): void {
    const [first] = this.#flying.splice(nth % Math.max(1, this.#flying.length), 1);
    const found = first && this.services.get(first.name);
    if (!found || found.metadata.resourceVersion !== first.resourceVersion) return;
    const ingress = first.patch.status?.loadBalancer?.ingress ?? undefined;
    const status = first.patch.status ? { loadBalancer: ingress ? { ingress } : {} } : found.status;
    const annotations = { ...found.metadata.annotations, ...first.patch.metadata?.annotations };
    const kept = Object.entries(annotations).filter((entry): entry is [string, string] => entry[1] !== null);
    const metadata = { ...found.metadata, annotations: Object.fromEntries(kept), resourceVersion: this.#next() };
    this.services.set(first.name, { ...found, metadata, ...(status && { status }) });
  }

  reshape(pools: readonly Pool[]): void {
    this.#pools = pools;
    this.#assigner.configure(loaded(pools));
  }

  /** Some writes in flight arrive, the others never do; then another controller leads. */
  crash(arriving: number): void {
    for (let nth = 0; nth < arriving; nth++) this.land(nth);
    this.#flying = [];
    this.#assigner = this.#lead();
  }

  /** Reconciles these, then all that are woken, and delivers all writes until nothing changes; false after too many rounds. */
  converge(first: "everyone" | "those unmet and woken" = "everyone"): boolean {
    const woken = this.#woken.splice(0).map((key) => key.slice("shop/".length));
    let keys = first === "everyone" ? [...this.services.keys()] : [...new Set([...this.#unmet, ...woken])];
    for (let round = 0; round < 20; round++) {
      for (const name of keys) this.reconcile(name);
      keys = [...this.#flying.map(({ name }) => name), ...this.#woken.map((key) => key.slice("shop/".length))];
      if (keys.length === 0) return true;
      while (this.#flying.length > 0) this.land(0);
      this.#woken.length = 0;
    }
    return false;
  }

  /** The controller of the other class assigns one of its Services an address that no Service publishes. */
  theirHand(name: string, last: number): void {
    const found = this.services.get(name);
    const ip = `192.0.2.${last}`;
    if (found?.spec.loadBalancerClass === undefined || publishedBy(this.services.values()).includes(ip)) return;
    this.#carry(found, [{ ip }]);
  }

  /** It takes back what an older Service of ours has come to show in the same moment. */
  theyYield(): void {
    for (const one of this.services.values()) {
      const isYounger = (other: Service) => (one.metadata.creationTimestamp ?? "") > (other.metadata.creationTimestamp ?? "");
      const older = publishedBy(this.#served().filter(isYounger));
      if (one.spec.loadBalancerClass !== undefined && publishedBy([one]).some((ip) => older.includes(ip))) this.#carry(one, []);
    }
  }

  #carry(found: Service, ingress: { ip: string }[]): void {
    const metadata = { ...found.metadata, resourceVersion: this.#next() };
    this.services.set(metadata.name, { ...found, metadata, status: { loadBalancer: { ingress } } });
  }

  /** What every Service says of itself. */
  get all(): unknown[] {
    return [...this.services.values()].map((one) => ({
      name: one.metadata.name,
      from: one.metadata.annotations,
      published: publishedBy([one]),
    }));
  }

  /** Over all classes. */
  get doublesOfAll(): string[] {
    const ips = publishedBy([...this.services.values()].filter(({ spec }) => spec.type === "LoadBalancer"));
    return ips.filter((ip, nth) => ips.indexOf(ip) !== nth);
  }

  get addressed(): number {
    return this.#served().filter(({ status }) => status?.loadBalancer?.ingress).length;
  }

  get doubles(): string[] {
    const ips = publishedBy(this.#served());
    return ips.filter((ip, nth) => ips.indexOf(ip) !== nth);
  }

  /** The others are not announced. */
  #served(): Service[] {
    return [...this.services.values()].filter((one) => isOurs(one, undefined));
  }

  #lead(): AddressAssigner {
    const { assigner, woken } = open(this.#pools);
    this.#woken = woken;
    assigner.claimAll([...this.services.values()]);
    return assigner;
  }

  #next(): string {
    return String(++this.#version);
  }
}

function publishedBy(services: Iterable<Service>): string[] {
  return [...services].flatMap(({ status }) => (status?.loadBalancer?.ingress ?? []).map(({ ip = "" }) => ip));
}

describe("through any history of edits, lost writes and changes of leader", { timeout: soak ? 30 * 60_000 : 60_000 }, () => {
  const name = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const request = fc.oneof(
    fc.integer({ min: 0, max: 4 }).map((last) => `192.0.2.${last}`),
    fc.constant("192.0.2.1,2001:db8::1"),
    fc.constant("what?"),
  );
  const dress: fc.Arbitrary<Dress> = fc.oneof(
    fc.constant({}),
    request.map((ips) => ({ annotations: { "metallb.io/loadBalancerIPs": ips } })),
    request.map((ips) => ({
      clusterIPs: BOTH,
      ipFamilyPolicy: "PreferDualStack" as const,
      annotations: { "metallb.io/loadBalancerIPs": ips },
    })),
    fc.constant({ annotations: { "metallb.io/address-pool": "other" } }),
    fc
      .constantFrom("PreferDualStack" as const, "RequireDualStack" as const)
      .map((ipFamilyPolicy) => ({ clusterIPs: BOTH, ipFamilyPolicy })),
    fc.constant<Dress>({ clusterIPs: ["fd96::1"] }),
    fc.constant({ type: "ClusterIP" as const }),
    fc.constant({ loadBalancerClass: "example.com/other" }),
  );
  const shape = fc.constantFrom(
    ["192.0.2.0-192.0.2.3"],
    ["192.0.2.0-192.0.2.1"],
    ["192.0.2.1-192.0.2.4", "2001:db8::/127"],
    ["192.0.2.0/31", "2001:db8::/126"],
    ["198.51.100.0/30"],
  );
  type Step = (world: World) => void;
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.tuple(name, fc.oneof(fc.constant({}), dress)).map(
        ([who, what]): Step =>
          (world) =>
            world.put(who, what),
      ),
    },
    {
      weight: 1,
      arbitrary: name.map(
        (who): Step =>
          (world) =>
            world.remove(who),
      ),
    },
    {
      weight: 6,
      arbitrary: name.map(
        (who): Step =>
          (world) =>
            world.reconcile(who),
      ),
    },
    {
      weight: 4,
      arbitrary: fc.nat({ max: 5 }).map(
        (nth): Step =>
          (world) =>
            world.land(nth),
      ),
    },
    {
      weight: 3,
      arbitrary: fc.nat({ max: 5 }).map(
        (nth): Step =>
          (world) =>
            world.giveUp(nth),
      ),
    },
    {
      weight: 2,
      arbitrary: shape.map(
        (ranges): Step =>
          (world) =>
            world.reshape([pool("main", ranges), pool("other", ["203.0.113.0/31"], { autoAssign: false })]),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.nat({ max: 3 }).map(
        (arriving): Step =>
          (world) =>
            world.crash(arriving),
      ),
    },
  );

  const history = fc.array(step, { minLength: 30, maxLength: 120, size: "max" });

  test("no two Services ever publish the same address", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const world = new World([pool("main", ["192.0.2.0-192.0.2.3"])]);
        for (const take of steps) {
          take(world);
          expect(world.doubles).toEqual([]);
        }
      }),
      runs(6, 400),
    );
  });

  test("after a change of pools it is enough to reconcile Services that lack an address or are woken", () => {
    fc.assert(
      fc.property(history, shape, (steps, ranges) => {
        const world = new World([pool("main", ["192.0.2.0-192.0.2.3"])]);
        for (const take of steps) take(world);
        expect(world.converge()).toBe(true);
        world.reshape([pool("main", ranges), pool("other", ["203.0.113.0/31"], { autoAssign: false })]);
        expect(world.converge("those unmet and woken")).toBe(true);
        const published = world.all;
        expect(world.converge()).toBe(true);
        expect(world.all).toEqual(published);
      }),
      runs(9, 150),
    );
  });

  test("two controllers of different classes with the same pools end with different addresses", () => {
    const theirs = fc.tuple(name, fc.nat({ max: 4 })).map(
      ([who, last]): Step =>
        (world) =>
          world.theirHand(who, last),
    );
    const mixed = fc.array(fc.oneof({ weight: 4, arbitrary: step }, { weight: 1, arbitrary: theirs }), {
      minLength: 30,
      maxLength: 120,
      size: "max",
    });
    let met = 0;
    fc.assert(
      fc.property(mixed, (steps) => {
        const world = new World([pool("main", ["192.0.2.0-192.0.2.3"])]);
        for (const take of steps) {
          take(world);
          met += world.doublesOfAll.length;
        }
        world.converge();
        world.theyYield();
        expect(world.converge()).toBe(true);
        expect(world.doublesOfAll).toEqual([]);
      }),
      runs(8, 200),
    );
    // In the same moment they may, and some did.
    expect(met).toBeGreaterThan(0);
  });

  test("all Services converge, and none without an explicit request waits while an address is free", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const world = new World([pool("main", ["192.0.2.0-192.0.2.3"])]);
        for (const take of steps) take(world);
        world.reshape([pool("main", ["192.0.2.0-192.0.2.3"])]);
        for (const name of ["w", "x", "y", "z"]) world.put(name, {});
        expect(world.converge()).toBe(true);
        expect(world.addressed).toBe(4);
      }),
      runs(7, 200),
    );
  });
});

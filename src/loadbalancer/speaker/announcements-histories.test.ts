import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { LabelSelector } from "../../api/core/label-selector.ts";
import { bgpAd, config, l2Ad, node, peer, pool, service } from "../testing/announcement-fixtures.ts";
import type { BgpAd, Config, L2Ad } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import { Announcements, type AffectedServices } from "./announcements.ts";

const NODES = Array.from({ length: 24 }, (_, n) => `node-${n}`);
const SELF = "node-0";
const KEYS = ["web", "api", "shop", "mail"];
const VALUES = ["x", "y"];

const label = fc.constantFrom({ of: "x" }, { of: "y" }, {});
const selectors: fc.Arbitrary<readonly LabelSelector[]> = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  fc.constantFrom(...VALUES).map((of) => [{ matchLabels: { of } }]),
);
const selection = {
  pools: fc.subarray(["one", "two"], { minLength: 1 }).map((names) => new Set(names)),
  nodeSelectors: selectors,
  serviceSelectors: selectors,
};
const few = fc.integer({ min: 0, max: 2 });

const bgpAds: fc.Arbitrary<BgpAd[]> = fc.uniqueArray(
  fc.record({ name: fc.constantFrom("a", "b"), ...selection, localPref: few }).map(({ name, ...more }) => bgpAd(name, more)),
  { selector: ({ name }) => name },
);
const l2Ads: fc.Arbitrary<L2Ad[]> = fc.uniqueArray(
  fc
    .record({
      name: fc.constantFrom("a", "b", "c"),
      ...selection,
      preferences: fc.array(fc.record({ weight: few, selector: fc.constantFrom(...VALUES).map((of) => ({ matchLabels: { of } })) }), {
        maxLength: 2,
      }),
      interfaces: fc.option(fc.subarray(["eth0", "eth1"], { minLength: 1 })),
    })
    .map(({ name, interfaces, ...more }) => l2Ad(name, { ...more, ...(interfaces && { interfaces }) })),
  { selector: ({ name }) => name },
);
const configs: fc.Arbitrary<Config> = fc
  .record({
    pools: fc.constantFrom(
      [pool("one", ["10.0.0.0/24"]), pool("two", ["10.0.1.0/24"])],
      [pool("one", ["10.0.0.0/25"])],
      [pool("one", ["10.0.1.0/24"]), pool("two", ["10.0.0.0/24"])],
    ),
    peers: fc.constantFrom([], [peer("tor")]),
    bgpAds,
    l2Ads,
  })
  .map(config);
const nodeViews: fc.Arbitrary<NodeView> = fc
  .record({ name: fc.constantFrom(...NODES), labels: label, excluded: fc.boolean(), networkUnavailable: fc.boolean() })
  .map(({ name, ...more }) => node(name, more));
const services: fc.Arbitrary<ServiceView> = fc
  .record({
    key: fc.constantFrom(...KEYS),
    labels: label,
    address: fc.constantFrom("10.0.0.1", "10.0.0.200", "10.0.1.1", "192.0.2.1"),
    local: fc.boolean(),
    nodes: fc.subarray(NODES),
    any: fc.boolean(),
  })
  .map(({ address, nodes, any, ...more }) => service([address], { ...more, endpoints: { any, nodes: new Set(nodes) } }));

type Step =
  | { config: Config }
  | { ads: Pick<Config, "l2Ads"> }
  | { node: NodeView }
  | { gone: string }
  | { members: readonly string[] }
  | { member: string; alive: boolean }
  | { service: ServiceView }
  | { deleted: string };

const aNode = fc.constantFrom(...NODES);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    configs.map((config) => ({ config })),
    configs.map((ads) => ({ ads })),
    nodeViews.map((node) => ({ node })),
    aNode.map((gone) => ({ gone })),
    fc.subarray(NODES).map((members) => ({ members })),
    { weight: 4, arbitrary: fc.record({ member: aNode, alive: fc.boolean() }) },
    { weight: 3, arbitrary: services.map((service) => ({ service })) },
    fc.constantFrom(...KEYS).map((deleted) => ({ deleted })),
  ),
  { minLength: 5, maxLength: 40 },
);

/** Takes the steps, and decides no more than they concern. */
class History {
  readonly announcements = new Announcements(SELF);
  config = config({
    pools: [pool("one", ["10.0.0.0/24"]), pool("two", ["10.0.1.0/24"])],
    bgpAds: [bgpAd("a", ONE)],
    l2Ads: [l2Ad("a", ONE)],
  });
  nodes = new Map(NODES.map((name) => [name, node(name)]));
  live = new Set(NODES);

  constructor() {
    this.announcements.setNodes(this.nodes);
    this.announcements.members(this.live);
    this.announcements.configure(this.config);
  }

  take(step: Step): void {
    if ("service" in step) this.#put(step.service.key, step.service);
    else if ("deleted" in step) this.#put(step.deleted, undefined);
    else if ("config" in step) this.#configure(step.config);
    else if ("ads" in step) this.#configure({ ...this.config, l2Ads: step.ads.l2Ads });
    else if ("members" in step) this.#members(new Set(step.members));
    else if ("member" in step)
      this.#members(step.alive ? this.live.union(new Set([step.member])) : this.live.difference(new Set([step.member])));
    else this.#setNodes(step);
  }

  #put(key: string, view: ServiceView | undefined): void {
    this.announcements.put(key, view);
    this.announcements.decide(key);
  }

  #configure(config: Config): void {
    this.config = config;
    this.#decide(this.announcements.configure(config));
  }

  #members(live: Set<string>): void {
    this.live = live;
    this.#decide(this.announcements.members(live));
  }

  #setNodes(step: { node: NodeView } | { gone: string }): void {
    this.nodes = new Map(this.nodes);
    if ("node" in step) this.nodes.set(step.node.name, step.node);
    else if (step.gone !== SELF) this.nodes.delete(step.gone);
    this.#decide(this.announcements.setNodes(this.nodes));
  }

  #decide(concerned: AffectedServices | undefined): void {
    for (const key of concerned?.services ?? []) this.announcements.decide(key, concerned?.what);
  }
}

const ONE = { pools: new Set(["one", "two"]) };

test("incremental decisions equal a decision from scratch, for any history", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const history = new History();
      for (const step of taken) history.take(step);
      const { announcements, nodes, live, config } = history;

      const fresh = new Announcements(SELF);
      fresh.setNodes(nodes);
      fresh.members(live);
      fresh.configure(config);
      for (const [key, view] of announcements.services) {
        fresh.put(key, view);
        fresh.decide(key);
      }
      expect(announcements.bgp).toEqual(fresh.bgp);
      expect(announcements.l2).toEqual(fresh.l2);
    }),
    { seed: 6, numRuns: 500 },
  );
});

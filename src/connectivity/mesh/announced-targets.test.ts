import { expect, test } from "vitest";
import type { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { Service, ServicePort } from "../../api/core/service.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import type { Cache, Change } from "../../kube/cache/cache.ts";
import { allowing, mesh, node, service, SYSTEM, view } from "../testing/mesh.ts";
import { AnnouncerIndex } from "./announcer-index.ts";
import { planMesh } from "./plan.ts";

const announcedAs = (status: "True" | "False") => {
  return { type: "metallb.io/Announced", status, reason: "x", message: "", lastTransitionTime: "2026-11-16T09:00:00Z" };
};

type Ports = readonly (Partial<ServicePort> & { port: number })[];

function announcedService(key: string, ips: readonly string[], ports: Ports, ranges?: string[]): Service {
  const made = service(key, ["10.96.0.9"], ...ports);
  return {
    metadata: { ...made.metadata, labels: { tier: key.endsWith("web") ? "front" : "back" } },
    spec: { ...made.spec, type: "LoadBalancer", ...(ranges && { loadBalancerSourceRanges: ranges }) },
    status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) }, conditions: [announcedAs("True")] },
  };
}

const http = { port: 80 };
const web = announcedService("shop/web", ["192.0.2.1", "2001:db8::1"], [http, { port: 443 }, { port: 53, protocol: "UDP" }]);
const api = announcedService("bank/api", ["192.0.2.2"], [http]);
const dns = announcedService("shop/dns", ["192.0.2.3"], [{ port: 53, protocol: "UDP" }]);
const guarded = announcedService("shop/guarded", ["192.0.2.4", "2001:db8::4"], [http], ["10.0.0.0/8", "::/0"]);
const open = announcedService("shop/open", ["192.0.2.5"], [http], ["0.0.0.0/0"]);
const silent = announcedService("shop/silent", ["192.0.2.6"], [http]);

/** By Service the nodes that announce it. */
const announcers: Record<string, string[]> = { "shop/web": ["n1"], "bank/api": ["n1", "n2", "n3"], "shop/dns": ["n1"] };

function plan(
  targets: Parameters<typeof mesh>[1]["targets"],
  { namespace = SYSTEM, services = [web, api, dns, silent], by = announcers, sourcesPerTarget = Infinity, pods = false } = {},
) {
  const nodes = ["n1", "n2", "n3", "n4"].map((name, at) => node(name, `198.51.100.${at + 1}`));
  const announced = {
    services: () => services,
    service: (key: string) => services.find((one) => keyOf(one) === key),
    announcers: (key: string) => by[key] ?? [],
  };
  const sources = pods ? { pods: { selector: {} } } : { nodes: {} };
  const result = planMesh(
    mesh("m", { sources, targets, sourcesPerTarget: sourcesPerTarget === Infinity ? "all" : sourcesPerTarget }, namespace),
    { ...view({ nodes }), announced },
  );
  return { ...result, pairs: (result.checks ?? []).map(({ source, target }) => `${source.name} ${target.endpoint}`).toSorted() };
}

const external = (name: string, namespace = "shop", port?: number) => ({
  service: { name, namespace, external: true, ...(port !== undefined && { port }) },
});

test("an announced Service is checked at each announced address and TCP port, from the router", () => {
  const { checks = [], problems } = plan([external("web")], { sourcesPerTarget: 1 });
  expect(checks.map(({ target }) => target.endpoint)).toEqual(["192.0.2.1:80", "192.0.2.1:443", "[2001:db8::1]:80", "[2001:db8::1]:443"]);
  expect(new Set(checks.map(({ target }) => JSON.stringify(target.probe)))).toEqual(new Set(['{"type":"TCP","from":"Router"}']));
  expect(checks[0]).toMatchObject({
    name: expect.stringMatching(/^n\d-to-web-external-80-router-/) as string,
    target: { what: "external/shop/web", identity: "external/shop/web/80/4/TCP/Router/" },
  });
  expect(problems).toEqual([]);
  expect(plan([external("web", "shop", 443)]).pairs.every((pair) => pair.endsWith(":443"))).toBe(true);
});

function sources(key: "web" | "api", sourcesPerTarget: number): (string | undefined)[] {
  const { pairs } = plan([external(key, key === "api" ? "bank" : "shop", 80)], { sourcesPerTarget });
  return [...new Set(pairs.map((pair) => pair.split(" ")[0]))];
}

test("nodes that announce a Service check it only if there are too few others", () => {
  expect(sources("web", 3)).toEqual(["n2", "n3", "n4"]);
  expect(sources("api", 1)).toEqual(["n4"]);
  expect(sources("api", 2)).toHaveLength(2);
  expect(sources("api", 2)).toContain("n4");
});

test("a Service gets its first checks when a session has sent its prefix, and keeps them while none does", () => {
  const unsent = { ...web, status: { ...web.status, conditions: [announcedAs("False")] } };
  const { checks = [] } = plan([external("web", "shop", 443)], { services: [unsent], sourcesPerTarget: 1 });
  expect(checks.map(({ target }) => target.isFailing)).toEqual([true, true]);
  expect(plan([external("web")]).checks?.some(({ target }) => target.isFailing)).toBe(false);
});

test("announced covers every announced Service, by label if wanted, and not the others", () => {
  const one = { sourcesPerTarget: 1 };
  const targetsOf = (selector?: { matchLabels: Record<string, string> }) => {
    return new Set(plan([{ announced: selector ? { selector } : {} }], one).checks?.map(({ target }) => target.what));
  };
  expect(targetsOf()).toEqual(new Set(["external/shop/web", "external/bank/api"]));
  expect(targetsOf({ matchLabels: { tier: "front" } })).toEqual(new Set(["external/shop/web"]));
});

test("Services without a TCP port or with source ranges are not observed, and no problem", () => {
  const by = { "shop/dns": ["n1"], "shop/guarded": ["n1"], "shop/open": ["n1"] };
  const { pairs, notObserved, problems } = plan([{ announced: {} }, external("guarded")], {
    services: [dns, guarded, open, silent],
    by,
    sourcesPerTarget: 1,
  });
  expect(notObserved).toEqual([
    { service: "shop/dns", reason: "NoTCPPort" },
    { service: "shop/guarded", reason: "SourceRanges" },
  ]);
  expect(new Set(pairs.map((pair) => pair.split(" ")[1]))).toEqual(new Set(["192.0.2.5:80", "[2001:db8::4]:80"]));
  expect(problems).toEqual([]);
});

test.each<[string, ReturnType<typeof plan>, string[]]>([
  ["a Service that is not announced", plan([external("silent")]), ["spec.targets[0]: no node announces Service shop/silent over BGP"]],
  ["a Service that does not exist", plan([external("none")]), ["spec.targets[0]: Service shop/none does not exist"]],
  ["a port that it does not have", plan([external("web", "shop", 22)]), ["spec.targets[0]: Service shop/web has no TCP port 22"]],
  [
    "pods as sources",
    plan([external("web")], { namespace: "shop", pods: true }),
    ["spec.sources: no running pod matches the selector", "spec.targets[0]: probes from the router need sources.nodes"],
  ],
])("%s is a problem of the mesh", (_what, { problems, checks }, expected) => {
  expect(problems).toEqual(expected);
  expect(checks).toEqual([]);
});

test("a mesh of another namespace covers what allows it", () => {
  const services = [web, allowing("farm", api)];
  const { targets } = plan([{ announced: {} }], { namespace: "farm", services });
  expect(targets).toBe(1);
  expect(plan([external("web")], { namespace: "farm" }).problems[1]).toMatch(/^spec.targets\[0\]: Service shop\/web does not exist, or/);
});

test("without a load balancer nothing is announced", () => {
  const { problems } = planMesh(mesh("m", { sources: { nodes: {} }, targets: [{ announced: {} }] }, SYSTEM), view({ nodes: [node("n1")] }));
  expect(problems).toEqual(["spec.targets[0]: no load balancer runs"]);
});

/** A cache of which the test decides what it holds. */
function cacheOf<T extends KubeObject>() {
  const objects = new Map<string, T>();
  let listener: ((change: Change<T>) => void) | undefined;
  const cache = {
    list: () => [...objects.values()],
    get: (key: string) => objects.get(key),
    subscribe(hear: (change: Change<T>) => void) {
      listener = hear;
      for (const object of objects.values()) hear({ type: "added", object, initial: true });
      return () => (listener = undefined);
    },
  } as unknown as Cache<T>;
  return {
    cache,
    isFollowed: () => listener !== undefined,
    put(object: T) {
      const old = objects.get(keyOf(object));
      objects.set(keyOf(object), object);
      listener?.(old ? { type: "updated", object, old } : { type: "added", object, initial: false });
    },
    remove(object: T) {
      objects.delete(keyOf(object));
      listener?.({ type: "deleted", object });
    },
  };
}

const report = (at: string, status: ServiceBGPStatus["status"] = {}): ServiceBGPStatus => ({
  metadata: { name: `web-${at}`, namespace: "shop" },
  status: { node: at, service: "web", bgpPeers: ["tor"], ...status },
});

test("who announces a Service is followed while a mesh needs it, and only relevant changes count", () => {
  const [services, reports] = [cacheOf<Service>(), cacheOf<ServiceBGPStatus>()];
  let changes = 0;
  const index = new AnnouncerIndex({ services: services.cache, reports: reports.cache }, () => (changes += 1));
  reports.put(report("n1"));
  index.follow(false);
  expect([index.announcers("shop/web", 4), services.isFollowed()]).toEqual([[], false]);
  index.follow(true);
  reports.put(report("n2", { families: [{ family: "IPv6", peers: ["tor"] }] }));
  expect([index.announcers("shop/web", 4), index.announcers("shop/web", 6)]).toEqual([["n1"], ["n1", "n2"]]);
  expect(changes).toBe(1);
  reports.put(report("n2", { families: [{ family: "IPv6", peers: ["tor", "spine"] }] }));
  services.put(service("shop/db", ["10.96.0.7"], http));
  expect(changes).toBe(1);
  services.put(web);
  services.put({ ...web, status: { ...web.status, conditions: [announcedAs("False")] } });
  services.put({ ...web, status: { ...web.status, conditions: [announcedAs("False"), { ...announcedAs("True"), type: "Other" }] } });
  expect(changes).toBe(3);
  reports.put(report("n1", { bgpPeers: [] }));
  reports.remove(report("n2"));
  expect([index.announcers("shop/web", 6), changes]).toEqual([[], 5]);
  index.follow(false);
  expect([services.isFollowed(), reports.isFollowed()]).toEqual([false, false]);
});

test("the announcers of a Service are sorted once for all its ports, until a report changes", () => {
  const [services, reports] = [cacheOf<Service>(), cacheOf<ServiceBGPStatus>()];
  const index = new AnnouncerIndex({ services: services.cache, reports: reports.cache }, () => {});
  index.follow(true);
  for (const node of ["n2", "n1"]) reports.put(report(node));
  const before = index.announcers("shop/web", 4);
  expect(before).toEqual(["n1", "n2"]);
  expect(index.announcers("shop/web", 4)).toBe(before);
  reports.put(report("n3", { families: [{ family: "IPv6", peers: ["tor"] }] }));
  expect([index.announcers("shop/web", 4), index.announcers("shop/web", 6)]).toEqual([before, ["n1", "n2", "n3"]]);
  reports.remove(report("n1"));
  expect([index.announcers("shop/web", 4), index.announcers("shop/web", 6)]).toEqual([["n2"], ["n2", "n3"]]);
  index.follow(false);
  expect(index.announcers("shop/web", 4)).toEqual([]);
});

import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Probe } from "../../api/connectivity/probe.ts";
import { planMesh } from "./plan.ts";
import { allowing, mesh, node, ofPod, pod, service, slice, SYSTEM, view, type Cluster } from "../testing/mesh.ts";

const https = { name: "https", port: 443 };
const shop: Cluster = {
  pods: [pod("web-0", { app: "web" }), pod("web-1", { app: "web" }), pod("job", { app: "web" }, "Succeeded"), pod("other")],
  nodes: [node("n1", "192.0.2.1", "fd00::1"), node("n2", "192.0.2.2")],
  services: [
    service("shop/db", ["10.96.0.7", "fd00:96::7"], https, { name: "dns", port: 53, protocol: "UDP" }),
    service("shop/headless", ["None"], https),
    allowing("shop", service("bank/api", ["10.96.0.8"], { port: 80 }, { name: "admin", port: 81 })),
  ],
  slices: [
    slice("shop/db", [{ name: "https", port: 8443 }], ofPod("db-0", "10.0.0.1"), ofPod("db-1", "10.0.0.2")),
    slice("shop/headless", [{ name: "https", port: 8443 }], ofPod("web-0", "10.0.1.1"), ofPod("web-1", "10.0.1.2")),
    slice("bank/api", [{ port: 8080 }, { name: "admin", port: 8081 }], { addresses: ["10.1.0.1"] }),
  ],
};
const web = { pods: { selector: { matchLabels: { app: "web" } } } };

function pairs(targets: Parameters<typeof mesh>[1]["targets"], cluster: Cluster = shop): string[] {
  const { checks = [] } = planMesh(mesh("m", { sources: web, targets }), view(cluster));
  return checks.map(({ source, target }) => `${source.name} ${target.endpoint}`).toSorted();
}

test.each([
  ["a Service at each of its addresses", [{ service: { name: "db" } }], ["10.96.0.7:443", "[fd00:96::7]:443"]],
  ["a Service of another namespace, one port by number", [{ service: { name: "api", namespace: "bank", port: 81 } }], ["10.96.0.8:81"]],
  ["the same port by name", [{ service: { name: "api", namespace: "bank", port: "admin" } }], ["10.96.0.8:81"]],
  ["the endpoints of a Service at the port that they listen on", [{ endpoints: { service: "db" } }], ["10.0.0.1:8443", "10.0.0.2:8443"]],
  ["endpoints that are not pods", [{ endpoints: { service: "api", namespace: "bank", port: 80 } }], ["10.1.0.1:8080"]],
  ["nodes at all their addresses", [{ nodes: { port: 6443 } }], ["192.0.2.1:6443", "192.0.2.2:6443", "[fd00::1]:6443"]],
  ["a host by name", [{ host: "db.example:5432" }], ["db.example:5432"]],
])("each selected running pod checks %s", (_what, targets, endpoints) => {
  expect(pairs(targets)).toEqual(["web-0", "web-1"].flatMap((source) => endpoints.map((at) => `${source} ${at}`)));
});

const checksOf = (...probes: (Probe | undefined)[]) => {
  const targets = probes.map((probe) => Object.assign({ host: "a.test:80" }, probe && { probe }));
  return planMesh(mesh("m", { sources: { pods: { selector: { matchLabels: { app: "web" } } } }, targets }), view(shop)).checks ?? [];
};

test("a probe makes another target of the same endpoint, with its own check, and another expectation does not", () => {
  const [tcp, plain, path, expecting] = (
    [undefined, { type: "HTTP" }, { type: "HTTP", path: "/a" }, { type: "HTTP", expect: { body: "ok" } }] as const
  ).map((probe) => checksOf(probe)[0]);
  expect(plain).toMatchObject({ name: expect.stringMatching(/^web-0-to-a-test-80-http-/) as string, target: { endpoint: "a.test:80" } });
  expect(new Set([tcp?.name, plain?.name, path?.name]).size).toBe(3);
  expect(expecting?.name).toBe(plain?.name);
  expect(checksOf({ type: "TCP" })[0]).toEqual(tcp);
  expect(checksOf(undefined, { type: "HTTP" }, { type: "HTTPS" })).toHaveLength(6);
});

test("of two entries with the same request and another expectation the first applies, and the other is a problem", () => {
  const ready: Probe = { type: "HTTP", expect: { body: "ready" } };
  const entries: { host: string; probe?: Probe }[] = [
    { host: "a.test:80" },
    { host: "a.test:80", probe: ready },
    { host: "a.test:80", probe: { expect: { body: "ready" }, type: "HTTP", path: "/", followRedirects: false } },
    { host: "a.test:80", probe: { type: "HTTP", expect: { body: "fine" } } },
    { host: "a.test:80", probe: { type: "TCP" } },
    { host: "b.test:80", probe: { type: "HTTP" } },
  ];
  const { checks = [], problems } = planMesh(mesh("m", { sources: web, targets: entries }), view(shop));
  expect(problems).toEqual([
    "spec.targets[3]: same request as spec.targets[1], with another expect, followRedirects or tls; spec.targets[1] applies",
  ]);
  const probes = checks.filter(({ source }) => source.name === "web-0").map(({ target }) => [target.endpoint, target.probe]);
  expect(probes).toEqual([
    ["a.test:80", undefined],
    ["a.test:80", ready],
    ["b.test:80", { type: "HTTP" }],
  ]);
});

test("an entry with many contradicting requests is one problem", () => {
  const targets = [{ body: "ready" }, { body: "fine" }].map((expected) => ({
    endpoints: { service: "db" },
    probe: { type: "HTTP", expect: expected } as const,
  }));
  expect(planMesh(mesh("m", { sources: web, targets }), view(shop)).problems).toHaveLength(1);
});

test("no pod checks itself, and a pod of the same name in another namespace is a target", () => {
  expect(pairs([{ endpoints: { service: "headless" } }])).toEqual(["web-0 10.0.1.2:8443", "web-1 10.0.1.1:8443"]);
  const namesake = { ...ofPod("web-0", "10.9.0.1"), targetRef: { kind: "Pod", namespace: "bank", name: "web-0" } };
  const cluster = { ...shop, slices: [slice("bank/api", [{ port: 80 }], namesake)] };
  expect(pairs([{ endpoints: { service: "api", namespace: "bank", port: 80 } }], cluster)).toEqual([
    "web-0 10.9.0.1:80",
    "web-1 10.9.0.1:80",
  ]);
});

test.each([
  ["nothing", undefined, false],
  ["another namespace", "farm", false],
  ["a namespace whose name begins like it", "shop-2", false],
  ["its namespace among others", "farm, shop", true],
  ["every namespace", "*", true],
])("a Service of another namespace that allows %s", (_what, allowed, isTarget) => {
  const bare = service("bank/ledger", ["10.96.0.9"], { port: 80 });
  const ledger = allowed === undefined ? bare : allowing(allowed, bare);
  const cluster = { ...shop, services: [ledger], slices: [slice("bank/ledger", [{ port: 5432 }], { addresses: ["10.1.0.9"] })] };
  const targets = [{ service: { name: "ledger", namespace: "bank" } }, { endpoints: { service: "ledger", namespace: "bank" } }];
  const { checks, problems } = planMesh(mesh("m", { sources: web, targets }), view(cluster));
  expect(checks).toHaveLength(isTarget ? 4 : 0);
  const problem =
    "Service bank/ledger does not exist, or does not allow meshes of namespace shop: annotate it with plumbline.dev/allow-mesh-from: shop";
  expect(problems).toEqual(isTarget ? [] : [`spec.targets[0]: ${problem}`, `spec.targets[1]: ${problem}`]);
  // Whether there is such a Service is not told either.
  expect(planMesh(mesh("m", { sources: web, targets }), view({ ...shop, services: [] })).problems).toEqual([
    `spec.targets[0]: ${problem}`,
    `spec.targets[1]: ${problem}`,
  ]);
});

test("meshes in Plumbline's namespace may name Services of every namespace, and every mesh the Service of the API server", () => {
  const cluster = {
    ...shop,
    services: [service("bank/ledger", ["10.96.0.9"], { port: 80 }), service("default/kubernetes", ["10.96.0.1"], https)],
  };
  const ledger = { sources: { nodes: {} }, targets: [{ service: { name: "ledger", namespace: "bank" } }] };
  expect(planMesh(mesh("m", ledger, SYSTEM), view(cluster)).checks).toHaveLength(2);
  expect(pairs([{ service: { name: "kubernetes", namespace: "default" } }], cluster)).toEqual([
    "web-0 10.96.0.1:443",
    "web-1 10.96.0.1:443",
  ]);
  expect(pairs([{ endpoints: { service: "kubernetes", namespace: "default" } }], cluster)).toEqual([]);
});

test("nodes are sources only in Plumbline's namespace, and never check themselves", () => {
  const spec = { sources: { nodes: {} }, targets: [{ nodes: { port: 22 } }] };
  const { checks = [], sources, targets, problems } = planMesh(mesh("m", spec, SYSTEM), view(shop));
  expect(checks.map(({ source, target }) => `${source.kind} ${source.name} ${target.endpoint}`)).toEqual([
    "node n2 192.0.2.1:22",
    "node n2 [fd00::1]:22",
    "node n1 192.0.2.2:22",
  ]);
  expect({ sources, targets, problems }).toEqual({ sources: 2, targets: 3, problems: [] });
  expect(planMesh(mesh("m", spec), view(shop))).toMatchObject({
    checks: [],
    problems: ["spec.sources: node sources are only allowed in namespace plumbline-system"],
  });
});

test("all problems that prevent checks are reported at once", () => {
  const targets = [
    { service: { name: "gone" } },
    { service: { name: "headless" } },
    { service: { name: "db", port: 53 } },
    { endpoints: { service: "gone" } },
    { endpoints: { service: "api", namespace: "bank", port: "metrics" } },
    { nodes: { port: 1, selector: { matchLabels: { no: "such" } } } },
    { host: "fd00::1:80" },
  ];
  const { checks, problems } = planMesh(
    mesh("m", { sources: { pods: { selector: { matchLabels: { no: "such" } } } }, targets }),
    view(shop),
  );
  expect(checks).toEqual([]);
  expect(problems).toEqual([
    "spec.sources: no running pod matches the selector",
    "spec.targets[0]: Service shop/gone does not exist",
    "spec.targets[1]: Service shop/headless has no cluster IP",
    "spec.targets[2]: Service shop/db has no TCP port 53",
    "spec.targets[3]: Service shop/gone does not exist",
    "spec.targets[4]: Service bank/api has no endpoint with a TCP port metrics",
    "spec.targets[5]: no node matches the selector",
    'spec.targets[6]: Target "fd00::1:80": IPv6 addresses need brackets: [fd00::1]:443',
  ]);
});

test("an endpoint that is not ready keeps its checks, and a terminating one has none", () => {
  const endpoints = [ofPod("a", "10.0.0.1", { ready: false }), ofPod("b", "10.0.0.2", { ready: false, serving: true, terminating: true })];
  const cluster = { ...shop, slices: [slice("shop/db", [{ name: "https", port: 1 }], ...endpoints, ofPod("c", "10.0.0.3", {}))] };
  const { checks = [] } = planMesh(mesh("m", { sources: web, targets: [{ endpoints: { service: "db" } }] }), view(cluster));
  const failing = new Map(checks.map(({ target }) => [target.endpoint, target.isFailing ?? false]));
  expect(Object.fromEntries(failing)).toEqual({ "10.0.0.1:1": true, "10.0.0.3:1": false });
});

const shopAt = (ip: string): Cluster => ({
  ...shop,
  nodes: [node("n1", ip)],
  slices: [slice("shop/db", [{ name: "https", port: 8443 }], ofPod("db-0", ip))],
});

test("a pod or node that keeps its name keeps its checks when its address changes", () => {
  const targets = [{ endpoints: { service: "db" } }, { nodes: { port: 22 } }];
  const [before, after] = ["10.0.0.1", "10.0.0.99"].map(
    (ip) => planMesh(mesh("m", { sources: web, targets }), view(shopAt(ip))).checks ?? [],
  );
  expect(after?.map(({ name }) => name)).toEqual(before?.map(({ name }) => name));
  expect(after?.map(({ target }) => target.endpoint)).toEqual(["10.0.0.99:8443", "10.0.0.99:8443", "10.0.0.99:22", "10.0.0.99:22"]);
});

test("a mesh with too many checks, or without sources, is rejected as a whole, so that its checks stay", () => {
  const nodes = Array.from({ length: 300 }, (_, at) => node(`n${at}`, `10.0.${at >> 8}.${at & 255}`));
  const all = { sources: { nodes: {} }, targets: [{ nodes: { port: 22 } }] };
  expect(planMesh(mesh("m", all, SYSTEM), view({ nodes }))).toMatchObject({
    checks: undefined,
    problems: ["spec.sourcesPerTarget: 90000 checks requested, the limit is 20000 per mesh; use fewer sources per target"],
  });
  expect(planMesh(mesh("m", { ...all, sourcesPerTarget: 0 }, SYSTEM), view({ nodes }))).toMatchObject({
    checks: undefined,
    problems: ["spec.sourcesPerTarget: must be at least 1, or all"],
  });
});

const host = fc.stringMatching(/^[a-zA-Z0-9._-]{1,40}$/).map((name) => `${name}:80`);
const names = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\.[a-z0-9]{1,63}){0,3}$/), {
  minLength: 1,
  maxLength: 12,
});

test("names are valid, at most as long as allowed, and unique per pair", () => {
  fc.assert(
    fc.property(names, names, fc.uniqueArray(host, { maxLength: 5 }), (sources, targets, hosts) => {
      const cluster = {
        pods: sources.map((name) => pod(name)),
        services: [service("shop/s", ["10.96.0.1"], https)],
        slices: [slice("shop/s", [{ name: "https", port: 1 }], ...targets.map((name, at) => ofPod(name, `10.0.0.${at}`)))],
      };
      const requested = [{ endpoints: { service: "s" } }, { service: { name: "s" } }, ...hosts.map((one) => ({ host: one }))];
      const { checks = [] } = planMesh(mesh("m", { targets: requested }), view(cluster));
      expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
      expect(new Set(checks.map(({ source, target }) => `${source.name} ${target.identity}`)).size).toBe(checks.length);
      for (const { name, source, target } of checks) {
        expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
        expect(name.length).toBeLessThanOrEqual(253);
        expect(target.pod).not.toBe(`shop/${source.name}`);
      }
    }),
    { seed: 7, numRuns: 200 },
  );
});

function chosenBy(sources: readonly string[], targets: readonly string[], sourcesPerTarget: number): Map<string, string[]> {
  const hosts = targets.map((name) => ({ host: `${name}.example:80` }));
  const { checks = [] } = planMesh(mesh("m", { targets: hosts, sourcesPerTarget }), view({ pods: sources.map((name) => pod(name)) }));
  const chosen = new Map<string, string[]>();
  for (const { source, target } of checks) chosen.set(target.endpoint, [...(chosen.get(target.endpoint) ?? []), source.name].toSorted());
  return chosen;
}

const plain = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 2, maxLength: 12 });

test("each target has the requested number of sources, and a lost source is replaced only for its targets", () => {
  fc.assert(
    fc.property(plain, plain, fc.integer({ min: 1, max: 5 }), fc.nat(), (sources, targets, count, which) => {
      const before = chosenBy(sources, targets, count);
      const gone = sources[which % sources.length] ?? "";
      const after = chosenBy(
        sources.filter((name) => name !== gone),
        targets,
        count,
      );
      for (const [target, chosen] of before) {
        expect(chosen).toHaveLength(Math.min(count, sources.length));
        const left = chosen.filter((name) => name !== gone);
        const next = after.get(target) ?? [];
        expect(left.every((name) => next.includes(name))).toBe(true);
        // Where the one that went did not try, nothing has changed.
        expect(left.length < chosen.length || next.join() === chosen.join()).toBe(true);
      }
    }),
    { seed: 7, numRuns: 200 },
  );
});

test("neither the order of objects nor other targets change a check", () => {
  fc.assert(
    fc.property(plain, plain, fc.integer({ min: 1, max: 5 }), (sources, targets, count) => {
      const [, ...fewer] = targets;
      const whole = chosenBy(sources, targets, count);
      const part = chosenBy(sources.toReversed(), fewer.toReversed(), count);
      for (const [target, chosen] of part) expect(chosen).toEqual(whole.get(target));
    }),
    { seed: 7, numRuns: 200 },
  );
});

test("sources share the work evenly, and the choice is the same in every release", () => {
  const sources = Array.from({ length: 50 }, (_, at) => `source-${at}`);
  const targets = Array.from({ length: 1000 }, (_, at) => `target-${at}`);
  const chosen = chosenBy(sources, targets, 3);
  const load = Map.groupBy([...chosen.values()].flat(), (name) => name);
  const shares = sources.map((name) => load.get(name)?.length ?? 0);
  // Sixty each on average; a fair draw of 3000 stays within five standard deviations.
  expect(Math.min(...shares)).toBeGreaterThan(21);
  expect(Math.max(...shares)).toBeLessThan(99);
  expect(chosen.get("target-0.example:80")).toEqual(["source-24", "source-43", "source-48"]);
});

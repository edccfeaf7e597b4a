import * as fc from "fast-check";
import { expect, test } from "vitest";
import { print } from "../frr/config.ts";
import type { Failure } from "../resilience/failure.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { plan, type RouterPlan } from "./plan.ts";
import { hostSession, l2vni, l3vni, observed, passthrough, rawConfig, underlay } from "./testing/fixtures.ts";
import type { StepResult, ResourceStep } from "./model/step.ts";
import { applyOrder } from "./apply-order.ts";

/** Walks a plan on a node that does as the answers say, and everything that is not named there. */
function walk(
  planned: RouterPlan,
  answers: Readonly<Record<string, StepResult>> = {},
): { steps: ResourceStep[]; failures: readonly Failure[] } {
  const steps: ResourceStep[] = [];
  const walking = applyOrder(planned);
  let next = walking.next();
  while (!next.done) {
    steps.push(...next.value);
    const [first] = next.value;
    next = walking.next((first && answers[first.owner]) ?? "applied");
  }
  return { steps, failures: next.value };
}

const owners = ({ steps }: { steps: readonly ResourceStep[] }) => steps.map(({ owner }) => owner);
const messages = ({ failures }: { failures: readonly Failure[] }) =>
  failures.map(({ kind, name, reason, message }) => `${kind}/${name} ${reason} ${message}`);
const frr = (step: ResourceStep | undefined) => print(step?.rendered.fragment.lines ?? []);

function lastGood(steps: readonly ResourceStep[]): Map<string, LastGoodResource> {
  return new Map(steps.map(({ owner, uid, generation, spec, rendered }) => [owner, { uid, generation, spec, rendered }]));
}

const drawing = {
  underlays: [underlay()],
  l2vnis: [
    l2vni("a", { vrf: "red", vni: 101 }, { hour: 1 }),
    l2vni("b", { vrf: "blue", vni: 102 }, { hour: 2 }),
    l2vni("f", { vrf: "red", vni: 103 }, { hour: 3 }),
    l2vni("e", { vrf: "purple", vni: 104 }, { hour: 4 }),
  ],
  l3vnis: [
    l3vni("c", { vrf: "green", vni: 201 }),
    l3vni("d", { vrf: "red", vni: 202 }),
    l3vni("g", { vrf: "mgmt", vni: 203, hostsession: hostSession() }),
  ],
};

test("the resources are applied in the order of the specification", () => {
  const walked = walk(plan(observed(drawing)));
  expect(owners(walked)).toEqual(["Underlay/fabric", "L2VNI/a", "L3VNI/d", "L2VNI/b", "L2VNI/f", "L2VNI/e", "L3VNI/g"]);
  expect(messages(walked)).toEqual(["L3VNI/c DependencyFailed No healthy L2VNI exists for VRF 'green'"]);
});

test("the failures of the example in the specification are reported literally", () => {
  const planned = plan(
    observed({
      underlays: [underlay()],
      l2vnis: [
        l2vni("tenant-network-a", {
          vrf: "tenant",
          vni: 300,
          hostmaster: { type: "linux-bridge", linuxBridge: { name: "eth2", autoCreate: false } },
        }),
        l2vni("tenant-network-b", { vrf: "tenant", vni: 100 }),
      ],
      l3vnis: [
        l3vni("production-l3", { vrf: "production", vni: 100, hostsession: hostSession() }),
        l3vni("tenant-l3", { vrf: "tenant", vni: 200 }),
      ],
    }),
  );
  expect([...messages(planned), ...messages(walk(planned))]).toEqual([
    "L2VNI/tenant-network-a ValidationFailed Interface eth2 not present on node",
    "L2VNI/tenant-network-b ValidationFailed VNI 100 conflicts with L3VNI production-l3",
    "L3VNI/tenant-l3 DependencyFailed No healthy L2VNI exists for VRF 'tenant'",
  ]);
});

test("the second L2VNI of a VRF carries its L3VNI when the first fails", () => {
  const walked = walk(plan(observed(drawing)), { "L2VNI/a": "no" });
  expect(owners(walked)).toEqual(["Underlay/fabric", "L2VNI/a", "L2VNI/b", "L2VNI/f", "L3VNI/d", "L2VNI/e", "L3VNI/g"]);
});

test("an L3VNI without a live L2VNI fails, unless it has a session", () => {
  const walked = walk(plan(observed(drawing)), { "L2VNI/a": "no", "L2VNI/f": "no" });
  expect(owners(walked)).toEqual(["Underlay/fabric", "L2VNI/a", "L2VNI/b", "L2VNI/f", "L2VNI/e", "L3VNI/g"]);
  expect(messages(walked)).toEqual([
    "L3VNI/c DependencyFailed No healthy L2VNI exists for VRF 'green'",
    "L3VNI/d DependencyFailed No healthy L2VNI exists for VRF 'red'",
  ]);
});

test("a failed L3VNI is not applied again after the next L2VNI of its VRF", () => {
  expect(owners(walk(plan(observed(drawing)), { "L3VNI/d": "no" })).filter((owner) => owner === "L3VNI/d")).toHaveLength(1);
});

test("an Underlay that cannot be applied ends the traversal", () => {
  expect(walk(plan(observed(drawing)), { "Underlay/fabric": "previous" })).toMatchObject({
    steps: [{ owner: "Underlay/fabric" }],
    failures: [],
  });
});

test("passthrough and raw configurations come last, the latter by priority", () => {
  const rest = {
    passthroughs: [passthrough("p")],
    rawConfigs: [rawConfig("x", "log syslog", 7), rawConfig("z", "log stdout", 1), rawConfig("y", "log stdout", 1)],
  };
  expect(owners(walk(plan(observed({ underlays: [underlay()], ...rest }))))).toEqual([
    "Underlay/fabric",
    "L3Passthrough/p",
    "RawFRRConfig/y",
    "RawFRRConfig/z",
    "RawFRRConfig/x",
  ]);
});

const gateways = {
  underlays: [underlay()],
  l2vnis: [
    l2vni("a", { vrf: "red", vni: 101, l2gatewayips: ["10.1.0.1/24"] }, { hour: 1 }),
    l2vni("b", { vrf: "red", vni: 102, l2gatewayips: ["10.2.0.1/24", "2001:db8:2::1/64"] }, { hour: 2 }),
  ],
  l3vnis: [l3vni("d", { vrf: "red", vni: 202 })],
};
const networks = (step: ResourceStep | undefined) =>
  frr(step)
    .split("\n")
    .filter((line) => line.includes("network "))
    .map((line) => line.trim())
    .slice(1);

test("an L3VNI announces the existing subnets, and is applied again for new ones", () => {
  const { steps } = walk(plan(observed(gateways)));
  expect(owners({ steps })).toEqual(["Underlay/fabric", "L2VNI/a", "L3VNI/d", "L2VNI/b", "L3VNI/d"]);
  expect(networks(steps[2])).toEqual(["network 10.1.0.0/24"]);
  expect(networks(steps[4])).toEqual(["network 10.1.0.0/24", "network 10.2.0.0/24", "network 2001:db8:2::/64"]);
});

test("an L3VNI announces all subnets at once if they existed before, and withdraws removed ones", () => {
  const first = walk(plan(observed(gateways)));
  const again = walk(plan(observed(gateways, { lastGood: lastGood(first.steps) })));
  expect(owners(again)).toEqual(["Underlay/fabric", "L2VNI/a", "L3VNI/d", "L2VNI/b"]);
  expect(frr(again.steps[2])).toBe(frr(first.steps[4]));

  const broken = walk(plan(observed(gateways, { lastGood: lastGood(first.steps) })), { "L2VNI/b": "no" });
  expect(owners(broken)).toEqual(["Underlay/fabric", "L2VNI/a", "L3VNI/d", "L2VNI/b", "L3VNI/d"]);
  expect(networks(broken.steps[4])).toEqual(["network 10.1.0.0/24"]);
});

test("a subnet that could not be set up is not announced", () => {
  const { steps } = walk(plan(observed(gateways)), { "L2VNI/b": "no" });
  expect(owners({ steps })).toEqual(["Underlay/fabric", "L2VNI/a", "L3VNI/d", "L2VNI/b"]);
  expect(networks(steps[2])).toEqual(["network 10.1.0.0/24"]);
});

test("an L2VNI that stays in its old VRF supports the L3VNI of that VRF, not of the new one", () => {
  const before = { underlays: [underlay()], l2vnis: [l2vni("a", { vrf: "red", vni: 101 })] };
  const good = lastGood(walk(plan(observed(before))).steps);
  const edited = {
    underlays: [underlay()],
    l2vnis: [l2vni("a", { vrf: "blue", vni: 101 }, { generation: 2 })],
    l3vnis: [l3vni("r", { vrf: "red", vni: 201 }), l3vni("b", { vrf: "blue", vni: 202 })],
  };
  const walked = walk(plan(observed(edited, { lastGood: good })), { "L2VNI/a": "previous" });
  expect(owners(walked)).toEqual(["Underlay/fabric", "L2VNI/a", "L3VNI/r"]);
  expect(messages(walked)).toEqual(["L3VNI/b DependencyFailed No healthy L2VNI exists for VRF 'blue'"]);
});

test("a value that its owner could not release is not assigned to the next", () => {
  const before = { underlays: [underlay()], l2vnis: [l2vni("a", { vni: 101 }, { hour: 2 })] };
  const good = lastGood(walk(plan(observed(before))).steps);
  const edited = {
    underlays: [underlay()],
    l2vnis: [l2vni("b", { vni: 101 }, { hour: 1 }), l2vni("a", { vni: 102 }, { hour: 2, generation: 2 })],
  };
  const planned = plan(observed(edited, { lastGood: good }));
  expect(owners(walk(planned))).toEqual(["Underlay/fabric", "L2VNI/a", "L2VNI/b"]);
  const walked = walk(planned, { "L2VNI/a": "previous" });
  expect(owners(walked)).toEqual(["Underlay/fabric", "L2VNI/a"]);
  expect(messages(walked)).toEqual(["L2VNI/b ValidationFailed VNI 101 conflicts with L2VNI a, which failed to release it"]);
});

const vrfs = fc.constantFrom("red", "blue", "green");
const nodes = fc.record({
  l2: fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 9 }), vrfs, fc.nat(3)), { selector: ([vni]) => vni, maxLength: 7 }),
  l3: fc.uniqueArray(fc.tuple(fc.integer({ min: 11, max: 19 }), vrfs, fc.boolean()), { selector: ([vni]) => vni, maxLength: 6 }),
  failing: fc.uniqueArray(fc.integer({ min: 1, max: 19 }), { maxLength: 5 }),
});

function objectsOf({ l2, l3 }: { l2: [number, string, number][]; l3: [number, string, boolean][] }) {
  return {
    underlays: [underlay()],
    l2vnis: l2.map(([vni, vrf, hour]) => l2vni(`n${vni}`, { vni, vrf }, { hour })),
    l3vnis: l3.map(([vni, vrf, session]) =>
      l3vni(`n${vni}`, { vni, vrf, ...(session && { hostsession: hostSession(`192.169.${vni}.0/24`) }) }, { hour: vni }),
    ),
  };
}

const answersOf = (failing: readonly number[]) =>
  Object.fromEntries(failing.map((vni) => [`${vni < 10 ? "L2VNI" : "L3VNI"}/n${vni}`, "no" as const]));

test("every resource is applied once, after its dependencies", () => {
  fc.assert(
    fc.property(nodes, (drawn) => {
      const planned = plan(observed(objectsOf(drawn)));
      const answers = answersOf(drawn.failing);
      const walked = walk(planned, answers);
      const live = new Set<string>();
      for (const { owner, kind, vrf, otherwise } of walked.steps) {
        expect(kind === "Underlay" || live.has("Underlay/fabric")).toBe(true);
        const carried = planned.steps.some((other) => other.kind === "L2VNI" && other.vrf === vrf && live.has(other.owner));
        expect(otherwise === undefined || carried).toBe(true);
        if (answers[owner] !== "no") live.add(owner);
      }
      const failed = walked.failures.map(({ kind, name }) => `${kind}/${name}`);
      expect([...owners(walked), ...failed].sort()).toEqual(["Underlay/fabric", ...planned.steps.map(({ owner }) => owner)].sort());
    }),
    { seed: 7, numRuns: 300 },
  );
});

test("a failure affects no other resource, except an L3VNI that depends only on it", () => {
  fc.assert(
    fc.property(nodes, (drawn) => {
      const planned = plan(observed(objectsOf(drawn)));
      const without = walk(planned);
      const withFailures = walk(planned, answersOf(drawn.failing));
      const lost = owners(without).filter((owner) => !owners(withFailures).includes(owner));
      for (const owner of lost) {
        const step = planned.steps.find((one) => one.owner === owner);
        const carriers = planned.steps.filter(({ kind, vrf }) => kind === "L2VNI" && vrf === step?.vrf);
        expect(step?.otherwise).toBeDefined();
        expect(carriers.every(({ name }) => drawn.failing.includes(Number(name.slice(1))))).toBe(true);
      }
    }),
    { seed: 8, numRuns: 300 },
  );
});

test("on an empty node the applied resources do not depend on their order", () => {
  fc.assert(
    fc.property(nodes, fc.infiniteStream(fc.nat(100)), (drawn, order) => {
      const objects = objectsOf(drawn);
      const shuffled = <T>(list: readonly T[]) =>
        list
          .map((item) => [order.next().value, item] as const)
          .sort(([a], [b]) => a - b)
          .map(([, item]) => item);
      const other = { ...objects, l2vnis: shuffled(objects.l2vnis), l3vnis: shuffled(objects.l3vnis) };
      const [one, two] = [plan(observed(objects)), plan(observed(other))];
      expect(two).toEqual(one);
      expect(owners(walk(two, answersOf(drawn.failing)))).toEqual(owners(walk(one, answersOf(drawn.failing))));
    }),
    { seed: 9, numRuns: 200 },
  );
});

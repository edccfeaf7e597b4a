import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { validate } from "../api/admission/validation.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { withTransitionTimes } from "../kube/status/conditions.ts";
import type { Failure } from "../resilience/failure.ts";
import { type PassOutcome, report, type FrrState, setLastUpdateTime } from "./report.ts";
import { type OverlayState, pathKey } from "./overlay-status.ts";
import type { OverlayReport } from "./probes/report-overlay.ts";
import type { RouterKind } from "./model/step.ts";

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;

const now = "2025-01-15T10:30:00Z";
const quiet: FrrState = { sessions: [], vnis: [] };
const good: PassOutcome = { selected: [], failures: [], live: new Map() };

const failing = (owner: string, reason: Failure["reason"], message: string, field = ""): Failure => {
  const [kind = "", name = ""] = owner.split("/");
  return { kind, name, namespace: "openperouter-system", reason, field, message, class: "Permanent" };
};

const selected = (...owners: string[]) =>
  owners.map((owner) => {
    const [kind, name = ""] = owner.split("/");
    return { kind: kind as RouterKind, name, generation: 2 };
  });

/** As the writer stores it. */
const written = (outcome: PassOutcome, spoken: FrrState | undefined = quiet, before?: Status, at = now): Status => {
  const next = report(outcome, spoken);
  return setLastUpdateTime({ ...next, conditions: withTransitionTimes(next.conditions, before?.conditions ?? [], at) }, before, at);
};

/** What the spec shows of a status: it leaves out what it does not speak of. */
const asInTheSpec = ({ lastUpdateTime, failedResources, conditions = [] }: Status, ...types: string[]) => ({
  lastUpdateTime,
  ...(failedResources && { failedResources }),
  conditions: conditions.filter(({ type }) => types.includes(type)),
});

test("reports everything applied literally as in the specification", () => {
  expect(asInTheSpec(written(good), "Ready")).toEqual(
    parse(`
  lastUpdateTime: "2025-01-15T10:30:00Z"
  conditions:
  - type: Ready
    status: "True"
    reason: ConfigurationSuccessful
    message: "All configuration applied successfully"
    lastTransitionTime: "2025-01-15T10:30:00Z"
`),
  );
});

const probes = (found: Partial<OverlayReport>): OverlayState => {
  const paths = { ok: 0, failing: 0, unknown: 0 };
  const report = { probed: 3, failing: [], unknown: 0, pending: 0, reached: 0, paths, deadVnis: "", unobserved: [], ...found };
  return { vtep: "100.65.0.1", report, since: new Map(), isStarting: false };
};
const reachable = (...args: Parameters<typeof report>) => report(...args).conditions.find(({ type }) => type === "OverlayReachable");

test("a restarted agent keeps what was reported of the overlay until it has probed, and not while FRR is unavailable", () => {
  const starting = { ...probes({ pending: 3 }), isStarting: true };
  const condition = { type: "OverlayReachable", status: "True" as const, reason: "AllAnswered", message: "3 paths probed, none fails" };
  const before: Status = {
    conditions: [{ ...condition, lastTransitionTime: now }],
    overlay: { vtep: "100.65.0.1", probed: 3, reached: 2 },
  };
  expect(reachable(good, quiet, starting, before)).toEqual(condition);
  expect(report(good, quiet, starting, before).overlay).toEqual(before.overlay);
  expect(reachable(good, quiet, starting)).toMatchObject({ status: "Unknown", reason: "NotObserved" });
  expect(reachable(good, quiet, { ...starting, isStarting: false }, before)).toMatchObject({ status: "Unknown" });
  const silent = { ...condition, status: "Unknown" as const, reason: "AgentNotReporting", lastTransitionTime: now };
  expect(reachable(good, quiet, starting, { ...before, conditions: [silent] })).toMatchObject({ reason: "NotObserved" });
  expect(reachable({ ...good, unavailable: "gone" }, undefined, starting, before)).toMatchObject({ reason: "RouterUnavailable" });
});

const vnisUp = (...args: Parameters<typeof report>) => report(...args).conditions.find(({ type }) => type === "VNIsUp");
const lossy = { node: "node2", reason: "Loss", message: "30 % loss on the underlay to node2" } as const;

test("a failing path keeps its time, also when the agent restarts", () => {
  const state = { ...probes({ failing: [{ ...lossy, since: 5_000 }] }), since: new Map([[pathKey(lossy), now]]) };
  expect(report(good, quiet, state).overlay?.failing).toEqual([{ ...lossy, since: now }]);
  const before: Status = { overlay: { failing: [{ ...lossy, since: "2025-01-15T09:00:00Z" }] } };
  expect(report(good, quiet, state, before).overlay?.failing).toEqual([{ ...lossy, since: "2025-01-15T09:00:00Z" }]);
  const other: Status = { overlay: { failing: [{ ...lossy, node: "node3", since: "2025-01-15T09:00:00Z" }] } };
  expect(report(good, quiet, state, other).overlay?.failing).toEqual([{ ...lossy, since: now }]);
});

test("ranges of very many VNIs are cut to what the API accepts", () => {
  const vnis = Array.from({ length: 400 }, (_, at) => 100 + 2 * at).join(",");
  const failing = [{ node: "node2", reason: "NoEVPNRoute", vnis, message: `VNI ${vnis}: gone` } as const];
  const [path] = report(good, quiet, probes({ failing })).overlay?.failing ?? [];
  expect(path?.vnis?.length).toBeLessThanOrEqual(1024);
  expect(path?.message.length).toBeLessThanOrEqual(1024);
});

test("VNIsUp is False if no probed path of a VNI works, and stays so while a restarted agent has not probed", () => {
  const frr = { sessions: [], vnis: [vni(110, "Up"), vni(111, "Up")] };
  const dead = { type: "VNIsUp", status: "False", reason: "NoPathWorks", message: "VNI 110: no path to another node works" } as const;
  expect(vnisUp(good, frr, probes({ deadVnis: "110" }))).toEqual(dead);
  expect(vnisUp(good, frr, probes({}))).toMatchObject({ status: "True" });
  const before: Status = { conditions: [{ ...dead, lastTransitionTime: now }] };
  expect(vnisUp(good, frr, { ...probes({}), isStarting: true }, before)).toEqual(dead);
  expect(vnisUp(good, frr, probes({}), before)).toMatchObject({ status: "True" });
  expect(vnisUp(good, { ...frr, vnis: [vni(110, "Up"), vni(111, "Down", "down in FRR")] }, probes({ deadVnis: "110" }))).toMatchObject({
    status: "False",
    reason: "VNIsDown",
    message: "1 of 2 VNIs not up: 111 is Down (down in FRR); VNI 110: no path to another node works",
  });
});

test("Degraded is False when everything is applied", () => {
  expect(report(good, quiet).conditions.map(({ type, status }) => `${type}=${status}`)).toEqual([
    "Ready=True",
    "Degraded=False",
    "SessionsEstablished=True",
    "VNIsUp=True",
  ]);
});

test("reports some failed resources literally as in the specification", () => {
  const outcome: PassOutcome = {
    selected: selected("Underlay/u", "L2VNI/tenant-network-a", "L2VNI/tenant-network-b", "L3VNI/tenant-l3", "L3VNI/production-l3"),
    live: new Map([
      ["Underlay/u", 2],
      ["L3VNI/production-l3", 2],
    ]),
    failures: [
      failing("L3VNI/tenant-l3", "DependencyFailed", "No healthy L2VNI exists for VRF 'tenant'"),
      failing("L2VNI/tenant-network-b", "ValidationFailed", "VNI 100 conflicts with L3VNI production-l3"),
      failing("L2VNI/tenant-network-a", "ValidationFailed", "Interface eth2 not present on node"),
    ],
  };
  expect(asInTheSpec(written(outcome), "Ready", "Degraded")).toEqual(
    parse(`
  lastUpdateTime: "2025-01-15T10:30:00Z"
  failedResources:
    - kind: L2VNI
      name: tenant-network-a
      reason: ValidationFailed
      message: "Interface eth2 not present on node"
    - kind: L2VNI
      name: tenant-network-b
      reason: ValidationFailed
      message: "VNI 100 conflicts with L3VNI production-l3"
    - kind: L3VNI
      name: tenant-l3
      reason: DependencyFailed
      message: "No healthy L2VNI exists for VRF 'tenant'"
  conditions:
  - type: Ready
    status: "False"
    reason: ConfigurationFailed
    message: "3 resources failed, other resources applied successfully"
    lastTransitionTime: "2025-01-15T10:30:00Z"
  - type: Degraded
    status: "True"
    reason: ConfigurationFailed
    message: "Some resources failed to configure"
    lastTransitionTime: "2025-01-15T10:30:00Z"
`),
  );
});

test("reports a failed Underlay literally as in the specification", () => {
  const stopped = failing("Underlay/production-underlay", "ValidationFailed", "Interface eth0 not present on node");
  expect(asInTheSpec(written({ ...good, failures: [stopped], stopped }), "Ready", "Degraded")).toEqual(
    parse(`
  lastUpdateTime: "2025-01-15T10:30:00Z"
  failedResources:
    - kind: Underlay
      name: production-underlay
      reason: ValidationFailed
      message: "Interface eth0 not present on node"
  conditions:
  - type: Ready
    status: "False"
    reason: UnderlayFailed
    message: "Underlay failed validation, existing FRR configuration left as-is"
    lastTransitionTime: "2025-01-15T10:30:00Z"
  - type: Degraded
    status: "True"
    reason: UnderlayFailed
    message: "Underlay failed validation, VNI processing skipped"
    lastTransitionTime: "2025-01-15T10:30:00Z"
`),
  );
});

const messages = (outcome: PassOutcome) =>
  report(outcome, quiet)
    .conditions.slice(0, 2)
    .map(({ message }) => message);

test("one failed resource is counted once, however many errors it has", () => {
  const failures = [failing("L2VNI/a", "ValidationFailed", "x", "spec.vni"), failing("L2VNI/a", "ValidationFailed", "y", "spec.vrf")];
  expect(messages({ ...good, selected: selected("L2VNI/a", "L2VNI/b"), failures })).toEqual([
    "1 resource failed, other resources applied successfully",
    "1 resource failed to configure",
  ]);
});

test("the message does not claim other resources if there are none", () => {
  const failures = [failing("L2VNI/a", "DependencyFailed", "No Underlay selects this node")];
  expect(messages({ ...good, selected: selected("L2VNI/a"), failures })[0]).toBe("1 resource failed, no other resource applied");
});

test("an Underlay that the kernel or FRR rejects has reason ApplicationFailed", () => {
  const stopped = failing("Underlay/u", "ApplicationFailed", "RTNETLINK answers: Operation not supported");
  expect(messages({ ...good, failures: [stopped], stopped })).toEqual([
    "Underlay failed application, existing FRR configuration left as-is",
    "Underlay failed application, VNI processing skipped",
  ]);
});

test("an unavailable router is never Ready, with the reason", () => {
  const { conditions } = report({ ...good, unavailable: "zebra: nobody answers at zebra.vty" }, undefined);
  expect(conditions).toEqual([
    { type: "Ready", status: "False", reason: "RouterUnavailable", message: "zebra: nobody answers at zebra.vty" },
    { type: "Degraded", status: "True", reason: "RouterUnavailable", message: "zebra: nobody answers at zebra.vty" },
    { type: "SessionsEstablished", status: "Unknown", reason: "RouterUnavailable", message: "zebra: nobody answers at zebra.vty" },
    { type: "VNIsUp", status: "Unknown", reason: "RouterUnavailable", message: "zebra: nobody answers at zebra.vty" },
  ]);
});

test("an unavailable router reports no resource as live", () => {
  const live = new Map([["L2VNI/a", 2]]);
  expect(report({ ...good, selected: selected("L2VNI/a"), live, unavailable: "gone" }, undefined).resources).toBeUndefined();
});

test("each resource has the state of its current generation", () => {
  const outcome: PassOutcome = {
    selected: selected("L3VNI/new", "L2VNI/edited", "L2VNI/live", "L2VNI/refused", "Underlay/u"),
    failures: [
      failing("L2VNI/edited", "ValidationFailed", "VNI 1 conflicts with L2VNI live"),
      failing("L2VNI/refused", "ApplicationFailed", "no"),
    ],
    live: new Map([
      ["L2VNI/edited", 1],
      ["L2VNI/live", 2],
      ["Underlay/u", 2],
    ]),
    rebuilding: new Set(["Underlay/u"]),
  };
  expect(report(outcome, quiet).resources).toEqual([
    { kind: "Underlay", name: "u", generation: 2, state: "Rebuilding" },
    { kind: "L2VNI", name: "edited", generation: 2, state: "KeptPrevious" },
    { kind: "L2VNI", name: "live", generation: 2, state: "Applied" },
    { kind: "L2VNI", name: "refused", generation: 2, state: "Failed" },
    { kind: "L3VNI", name: "new", generation: 2, state: "Failed" },
  ]);
});

test("sessions that are down are counted and named", () => {
  const sessions = [
    { vrf: "default", neighbor: "192.0.2.1", state: "Active" },
    { vrf: "red", neighbor: "192.168.1.2", state: "Idle" },
    { vrf: "default", neighbor: "192.0.2.2", state: "Established" },
  ];
  expect(report(good, { sessions, vnis: [] }).conditions[2]).toEqual({
    type: "SessionsEstablished",
    status: "False",
    reason: "SessionsDown",
    message: "2 of 3 BGP sessions not established: 192.0.2.1 is Active, 192.168.1.2 in VRF red is Idle",
  });
  expect(report(good, { sessions: sessions.slice(2), vnis: [] }).conditions[2]).toMatchObject({
    status: "True",
    message: "1 BGP session established",
  });
});

const vni = (number: number, state: string, message?: string) => ({
  vni: number,
  type: "L2" as const,
  vrf: "red",
  state,
  ...(message !== undefined && { message }),
});
const conditionsOf = (...vnis: FrrState["vnis"]) => report(good, { sessions: [], vnis }).conditions;

test("a VNI that is down makes VNIsUp False with its cause, and does not change Ready", () => {
  const down = vni(110, "Down", "vni110 is not in bridge br-pe-110");
  const unread = vni(120, "Unknown", "not read");
  expect(conditionsOf(vni(100, "Up"), down, unread)[3]).toEqual({
    type: "VNIsUp",
    status: "False",
    reason: "VNIsDown",
    message: "2 of 3 VNIs not up: 110 is Down (vni110 is not in bridge br-pe-110), 120 is Unknown (not read)",
  });
  expect(conditionsOf(down)[0]).toMatchObject({ type: "Ready", status: "True" });
  expect(conditionsOf(unread)[3]).toMatchObject({ status: "Unknown", reason: "NotObserved" });
  expect(conditionsOf(vni(100, "Up"))[3]).toMatchObject({ status: "True", reason: "AllUp", message: "1 VNI up" });
});

const later = "2025-01-15T11:00:00Z";

test("lastUpdateTime stays while only a session changes", () => {
  const sessions = [{ vrf: "default", neighbor: "192.0.2.1", state: "Active" }];
  const before = written(good);
  expect(written(good, { sessions, vnis: [] }, before, later).lastUpdateTime).toBe(now);
});

test.each<[string, PassOutcome]>([
  ["a resource fails", { ...good, failures: [failing("L2VNI/a", "ValidationFailed", "x")] }],
  ["a new generation is applied", { ...good, selected: selected("L2VNI/a"), live: new Map([["L2VNI/a", 2]]) }],
  ["the router becomes unavailable", { ...good, unavailable: "gone" }],
])("lastUpdateTime moves when %s", (_what, outcome) => {
  expect(written(outcome, quiet, written(good), later).lastUpdateTime).toBe(later);
});

test("a message is one line, and never longer than the schema allows", () => {
  const rejected = failing("L2VNI/a", "ApplicationFailed", `% Unknown command\r\n${"🐢".repeat(5000)}`);
  const [entry] = report({ ...good, failures: [rejected] }, quiet).failedResources ?? [];
  expect(Array.from(entry?.message ?? "")).toHaveLength(4096);
  expect(entry?.message).toMatch(/^% Unknown command 🐢.*🐢…$/u);
});

test("the status of any failures is valid for the API server", () => {
  const owners = fc.constantFrom("Underlay/u", "L2VNI/a", "L3VNI/b", "L3Passthrough/p", "RawFRRConfig/r");
  const failure = fc
    .tuple(
      owners,
      fc.constantFrom("ValidationFailed", "DependencyFailed", "ApplicationFailed"),
      fc.string({ unit: "binary", maxLength: 6000 }),
      fc.string(),
    )
    .map(([owner, reason, message, field]) => failing(owner, reason, message, field));
  fc.assert(
    fc.property(
      fc.array(failure, { maxLength: 20 }),
      fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
      (failures, unavailable) => {
        const status = written({ ...good, failures, ...(unavailable !== undefined && { unavailable }) });
        const object = { metadata: { name: "n1", namespace: "openperouter-system" }, status };
        expect(validate(RouterNodeConfigurationStatus, object)).toEqual([]);
      },
    ),
    { seed: 3, numRuns: 200 },
  );
});

test("a node with very many failures has a truncated status, and the message says so", () => {
  const failures = Array.from({ length: 8192 }, (_, nth) => failing(`L2VNI/tenant-network-${nth}`, "ApplicationFailed", "x".repeat(4096)));
  const selected = failures.map(({ name }) => ({ kind: "L2VNI", name, generation: 1 }) as const);
  const live = new Map(selected.slice(0, 8000).map(({ name }) => [`L2VNI/${name}`, 0]));
  const vrfs = Array.from({ length: 4096 }, (_, nth) => ({ vrf: `vrf-${nth}`, state: nth > 4000 ? "Active" : "Established" }));
  const sessions = vrfs.map(({ vrf, state }) => ({ vrf, neighbor: "192.0.2.1", state, since: "2026-01-01T00:00:00Z" }));
  const vnis = vrfs.map(({ vrf }, nth) => ({ vni: nth + 1, type: "L3" as const, vrf, state: "Up" }));
  const status = report({ selected, failures, live }, { sessions, vnis });
  expect(Buffer.byteLength(JSON.stringify(status))).toBeLessThan(850_000);
  const [ready] = status.conditions;
  const unlisted = 8192 - (status.failedResources?.length ?? 0);
  expect(ready?.message).toBe(`8192 resources failed, no other resource applied; ${unlisted} failures not listed`);
  expect(status.sessions?.filter(({ state }) => state === "Active")).toHaveLength(95);
});

test("a thousand long messages together stay small enough to be stored", () => {
  const failures = Array.from({ length: 4000 }, (_, nth) => failing(`L2VNI/a${nth}`, "ApplicationFailed", "x".repeat(4096)));
  expect(JSON.stringify(report({ ...good, failures }, quiet)).length).toBeLessThan(1_000_000);
});

test("foreign objects in the data path are a condition of their own, with the text of each", () => {
  const clear = { type: "DataPathClear", status: "True", reason: "NothingForeign" };
  const condition = (outcome: PassOutcome) => report(outcome, quiet).conditions.find(({ type }) => type === "DataPathClear");
  expect(condition(good)).toBeUndefined();
  expect(condition({ ...good, foreign: [] })).toMatchObject(clear);
  const foreign = [{ object: "mtu", netns: "router", link: "eth1", text: "eth1 mtu 1280, the VNIs require 1500" }] as const;
  expect(condition({ ...good, foreign })).toEqual({
    type: "DataPathClear",
    status: "False",
    reason: "ForeignObjects",
    message: 'link "eth1 mtu 1280, the VNIs require 1500" in the router\'s namespace',
  });
  expect(report({ ...good, foreign }, quiet).foreign).toEqual([
    { object: "mtu", namespace: "router", interface: "eth1", text: "eth1 mtu 1280, the VNIs require 1500" },
  ]);
  const many = Array.from({ length: 500 }, (_, nth) => ({ object: "rule", netns: "router", text: `${nth}: ${"x".repeat(512)}` }) as const);
  const status = { ...written({ ...good, foreign: many }) };
  expect(validate(RouterNodeConfigurationStatus, { metadata: { name: "n1" }, status })).toEqual([]);
  expect(status.foreign).toHaveLength(64);
});

import { expect, test } from "vitest";
import type { FailoverStatus } from "../api/failover/failover-policy.ts";
import { statusChanges } from "./events.ts";

type Transition = NonNullable<FailoverStatus["transition"]>;

function transition(changes: Partial<Transition> = {}): Transition {
  return { to: "secondary", mode: "safe", generation: 2, startTime: "2026-11-16T12:00:00Z", steps: [], ...changes };
}

function error(status: "True" | "False", reason: string, message = ""): FailoverStatus {
  return { conditions: [{ type: "Error", status, reason, message, lastTransitionTime: "2026-11-16T12:00:00Z" }] };
}

const texts = (before: FailoverStatus | undefined, after: FailoverStatus) =>
  statusChanges(before, after).events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

test("a switch is an Event when it starts and when it is done, with its duration", () => {
  const started = { transition: transition() };
  expect(texts({}, started)).toEqual(["Normal FailoverStarted: Switching to secondary in safe mode"]);
  const done = { transition: transition({ completionTime: "2026-11-16T12:00:42Z" }) };
  expect(texts(started, done)).toEqual(["Normal FailoverCompleted: This site is secondary; the switch took 42 s"]);
  expect(statusChanges(started, done).completed).toEqual({ to: "secondary", mode: "safe", seconds: 42 });
  expect(statusChanges(done, done)).toEqual({ events: [], steps: [] });
});

test("a superseded switch is an Event, a finished one is not", () => {
  const back = { transition: transition({ to: "primary", startTime: "2026-11-16T12:01:00Z" }) };
  expect(texts({ transition: transition() }, back)).toEqual([
    "Normal FailoverSuperseded: Switch to secondary superseded by a newer request",
    "Normal FailoverStarted: Switching to primary in safe mode",
  ]);
  expect(texts({ transition: transition({ completionTime: "2026-11-16T12:00:42Z" }) }, back)).toHaveLength(1);
});

test("each step is one Event, when it is done", () => {
  const step = { name: "ScaleDown", startTime: "2026-11-16T12:00:00Z" };
  const running = { transition: transition({ steps: [{ ...step, state: "Running" }] }) };
  const done = { transition: transition({ steps: [{ ...step, state: "Done", completionTime: "2026-11-16T12:00:07Z" }] }) };
  expect(texts(running, done)).toEqual(["Normal ScaleDown: ScaleDown is done after 7 s"]);
  expect(statusChanges(running, done).steps).toEqual([{ name: "ScaleDown", seconds: 7 }]);
  expect(texts(done, done)).toEqual([]);
});

test("an error is an Event when it appears and when it changes, not when it stays or clears", () => {
  const missing = error("True", "NotFound", "Deployment does not exist");
  expect(texts(error("False", "NoError"), missing)).toEqual(["Warning NotFound: Deployment does not exist"]);
  expect(texts(missing, missing)).toEqual([]);
  expect(texts(missing, error("True", "NotFound", "StatefulSet does not exist"))).toHaveLength(1);
  expect(texts(missing, error("False", "NoError"))).toEqual([]);
});

test("a forced switch is an Event with its reason", () => {
  expect(texts({ transition: transition() }, { transition: transition({ forced: "east burnt down" }) })).toEqual([
    "Warning FailoverForced: Took over without the other site's release: east burnt down",
  ]);
});

const withStopped = (...names: string[]): FailoverStatus => ({
  volumeReplicationStatuses: [{ name: "data", namespace: "shop", state: "Secondary" }],
  workloadStatuses: names.map((name) => ({
    kind: "Deployment",
    name,
    namespace: "shop",
    state: name === "runs" ? "Active" : "Scaled Down",
  })),
});

test("a stopped resource that is removed from the policy is an Event", () => {
  const rest = "no longer in the policy and stays stopped; annotation plumbline.dev/failover-prior has its prior state";
  expect(texts(withStopped("web", "api"), withStopped("api"))).toEqual([
    `Warning ResourceLeftStopped: Deployment shop/web (Scaled Down) is ${rest}`,
  ]);
  expect(texts(withStopped("a", "b", "c", "d", "e"), {})).toEqual([
    `Warning ResourceLeftStopped: VolumeReplication shop/data (Secondary) and 5 more are ${rest}`,
  ]);
  expect(texts(withStopped("api", "runs"), withStopped("api"))).toEqual([]);
  expect(texts(withStopped("api"), withStopped("api", "web"))).toEqual([]);
});

const withWeb = (state: string, changes: Partial<Transition> = {}): FailoverStatus => ({
  transition: transition(changes),
  workloadStatuses: [{ kind: "Deployment", name: "web", namespace: "shop", state }],
});

test("a resource that others start again at a secondary is an Event", () => {
  const drifted =
    "Warning Drifted: Deployment shop/web was stopped and is Active again; another controller or person keeps starting it: stop that first";
  expect(texts(withWeb("Scaled Down"), withWeb("Active"))).toEqual([drifted]);
  expect(texts(withWeb("Active"), withWeb("Scaled Down"))).toEqual([]);
  expect(texts(withWeb("Scaled Down", { to: "primary" }), withWeb("Active", { to: "primary" }))).toEqual([]);
});

test("writable volumes are reported once, before the switch is complete", () => {
  const way = transition({ to: "primary" });
  const writable = { ...way, volumesWritableTime: "2026-11-16T12:00:20Z" };
  expect(statusChanges({ transition: way }, { transition: writable }).volumes).toEqual({ mode: "safe", seconds: 20 });
  expect(statusChanges({ transition: writable }, { transition: writable }).volumes).toBeUndefined();
  const done = { ...writable, completionTime: "2026-11-16T12:00:50Z" };
  expect(statusChanges({ transition: writable }, { transition: done })).toMatchObject({ completed: { seconds: 50 } });
  expect(statusChanges(undefined, { transition: done })).toMatchObject({ volumes: { seconds: 20 }, completed: { seconds: 50 } });
});

function ready(status: "True" | "False" | "Unknown", reason: string, message = ""): FailoverStatus {
  return { conditions: [{ type: "Ready", status, reason, message, lastTransitionTime: "2026-11-16T12:00:00Z" }] };
}

test("Ready becoming False and True again are Events", () => {
  const [fine, old] = [ready("True", "Ready"), ready("False", "CopyTooOld", "files: it was last copied more than 15m ago")];
  expect(texts(fine, old)).toEqual(["Warning NotReady: The site cannot be switched: files: it was last copied more than 15m ago"]);
  expect(texts(old, old)).toEqual([]);
  expect(texts(old, ready("False", "PeerUnreachable", "no answer"))).toHaveLength(1);
  expect(texts(old, fine)).toEqual(["Normal Ready: The site can be switched again"]);
  expect(texts(fine, ready("Unknown", "InProgress"))).toEqual([]);
});

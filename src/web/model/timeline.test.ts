import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Event } from "../../api/core/event.ts";
import { Node } from "../../api/core/node.ts";
import type { KubeObject } from "../../api/kind.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { refsOfComponents } from "../access/refs.ts";
import type { SyncRow, TimelineRow } from "../api.ts";
import type { Happening } from "../rows/happenings.ts";
import { check, CONFIG_NAMESPACES, modelOf, node, routerStatus } from "../testing/fixtures.ts";
import type { DashboardModel } from "./model.ts";
import { RowStore, type StoredRow } from "./row-store.ts";
import { MAX_ENTRIES, Timeline, TOGETHER_MS } from "./timeline.ts";

const START = Date.parse("2026-11-16T12:00:00Z");
const READ: SyncRow = { type: "sync", key: "sync", complete: true, lost: [], hidden: [] };
const all = (stored: StoredRow) => stored.text;

function entriesOf(model: Pick<DashboardModel, "rows">): TimelineRow[] {
  const rows = JSON.parse(model.rows.snapshot("timeline", all)) as TimelineRow[];
  return rows.sort((one, other) => (one.time < other.time ? -1 : 1));
}
const brief = ({ time, what, source, reason, count }: TimelineRow) => [time.slice(11, 19), what, source, reason ?? "", count];
const at = (seconds: number) => new Date(START + seconds * 1_000);
const timeAt = (seconds: number) => at(seconds).toISOString();

test("a cause is a failure with its symptoms of the same time, and fixed when it is healthy again", () => {
  vi.useFakeTimers({ now: at(30) });
  try {
    const model = modelOf();
    for (const name of ["n1", "n2", "n3"])
      model.put(RouterNodeConfigurationStatus, routerStatus(name, name === "n3" ? "Established" : "Active"));
    model.refresh();
    expect(entriesOf(model)).toEqual([]);
    model.set("sync", READ);
    model.refresh();
    expect(entriesOf(model).map(brief)).toEqual([["12:00:00", "failed", "health", "SessionDown", 2]]);
    vi.setSystemTime(at(90));
    model.put(RouterNodeConfigurationStatus, routerStatus("n1"));
    model.refresh();
    model.refresh();
    expect(entriesOf(model).map(brief)).toEqual([
      ["12:00:00", "failed", "health", "SessionDown", 2],
      ["12:01:30", "fixed", "health", "", 1],
    ]);
    expect(entriesOf(model)[1]).toMatchObject({
      since: "2026-11-16T12:00:00Z",
      components: [{ kind: "Session", name: "192.168.11.1", node: "n1" }],
    });
  } finally {
    vi.useRealTimers();
  }
});

test("created, changed and deleted configuration has entries, and a status has none", () => {
  vi.useFakeTimers({ now: at(600) });
  try {
    const model = modelOf();
    const vni = (generation: number) =>
      ({
        metadata: { name: "red", namespace: "openperouter-system", uid: "u1", generation, creationTimestamp: timeAt(0) },
        spec: { vni: 100 + generation },
      }) as unknown as KubeObject;
    model.put(L2VNI, vni(1));
    model.put(L2VNI, vni(1));
    model.put(L2VNI, vni(2));
    vi.setSystemTime(at(700));
    model.drop(L2VNI, vni(2));
    model.put(RouterNodeConfigurationStatus, { ...routerStatus("n1"), metadata: { ...routerStatus("n1").metadata, generation: 3 } });
    const joined = { ...node("n1"), metadata: { name: "n1", uid: "u2", generation: 1, creationTimestamp: timeAt(800) } };
    model.put(Node, joined);
    model.put(Node, { ...joined, metadata: { ...joined.metadata, generation: 2 } });
    model.refresh();
    expect(entriesOf(model).map(brief)).toEqual([
      ["12:00:00", "changed", "object", "Created", 1],
      ["12:10:00", "changed", "object", "Changed", 1],
      ["12:11:40", "changed", "object", "Deleted", 1],
      ["12:13:20", "changed", "object", "Created", 1],
    ]);
  } finally {
    vi.useRealTimers();
  }
});

const event = (reason: string, type: "Normal" | "Warning", seconds: number, count = 1): Event => ({
  metadata: { name: reason, namespace: "openperouter-system", uid: reason },
  involvedObject: { kind: "L2VNI", name: "red", namespace: "openperouter-system" },
  type,
  reason,
  message: "as told",
  count,
  lastTimestamp: timeAt(seconds),
  reportingComponent: "plumbline-agent",
  reportingInstance: "n1",
});

test("an Event has the type of its reason and its reporting node, and each recurrence is an entry", () => {
  const model = modelOf();
  model.putEvent(event("DriftRepaired", "Warning", 0));
  model.putEvent(event("DriftRepaired", "Warning", 0));
  model.putEvent(event("DriftRepaired", "Warning", 300, 2));
  model.putEvent(event("ValidationFailed", "Warning", 10));
  model.putEvent(event("IPAllocated", "Normal", 20));
  model.putEvent({ ...event("ConnectivityRestored", "Normal", 30), involvedObject: { kind: "PodNetworkConnectivityCheck", name: "c" } });
  model.refresh();
  expect(entriesOf(model).map(brief)).toEqual([
    ["12:00:00", "fixed", "event", "DriftRepaired", 1],
    ["12:00:10", "failed", "event", "ValidationFailed", 1],
    ["12:00:20", "changed", "event", "IPAllocated", 1],
    ["12:05:00", "fixed", "event", "DriftRepaired", 1],
  ]);
  expect(entriesOf(model)[0]?.components).toEqual([{ kind: "L2VNI", name: "red", namespace: "openperouter-system", node: "n1" }]);
  const [stored] = model.rows.of("timeline");
  expect(stored?.of.map(({ kind, namespace }) => [kind.kind, namespace])).toEqual([
    ["Event", "openperouter-system"],
    ["L2VNI", "openperouter-system"],
    ["RouterNodeConfigurationStatus", "openperouter-system"],
  ]);
});

test("an outage of many checks has one start and one end, for viewers who may list the checks", () => {
  const model = modelOf();
  for (const name of ["a", "b", "c"]) {
    const failing = check(name, "n1", "10.0.0.1:80", "False");
    const outages = [{ start: timeAt(5), end: timeAt(400), message: "No route to host" }];
    const metadata = { ...failing.metadata, uid: name, namespace: name === "c" ? "bank" : "shop" };
    const broken: PodNetworkConnectivityCheck = { ...failing, metadata, status: { ...failing.status, outages } };
    model.put(PodNetworkConnectivityCheck, broken);
  }
  model.refresh();
  expect(entriesOf(model).map(brief)).toEqual([
    ["12:00:05", "failed", "outage", "", 2],
    ["12:00:05", "failed", "outage", "", 1],
    ["12:06:40", "fixed", "outage", "", 2],
    ["12:06:40", "fixed", "outage", "", 1],
  ]);
  expect([...model.rows.of("timeline")].map(({ of }) => of.map(({ kind, namespace }) => `${kind.kind} ${namespace}`).join())).toEqual([
    "PodNetworkConnectivityCheck shop",
    "PodNetworkConnectivityCheck shop",
    "PodNetworkConnectivityCheck bank",
    "PodNetworkConnectivityCheck bank",
  ]);
});

test("events of one kind within a minute share an entry, and the newest entries are kept", () => {
  const happenings = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.constantFrom("Link", "FRR"), fc.integer({ min: 0, max: 30 })),
    {
      maxLength: 200,
    },
  );
  fc.assert(
    fc.property(happenings, (happenings) => {
      const { timeline, rows } = emptyTimeline();
      for (const [seconds, kind, nth] of happenings) timeline.record(happening(seconds, kind, nth));
      timeline.write(rows);
      const entries = entriesOf({ rows });
      for (const { components } of entries) expect(new Set(components.map(({ kind }) => kind)).size).toBe(1);
      for (const [seconds, kind, nth] of happenings) {
        const node = `n${nth}`;
        const found = entries.filter((entry) => near(entry.time, seconds) && hasNode(entry, kind, node));
        expect(found).not.toEqual([]);
      }
    }),
  );
  const { timeline, rows } = emptyTimeline();
  for (let minute = 0; minute < 2 * MAX_ENTRIES; minute += 1) timeline.record(happening(minute * 120, "Link", 1));
  timeline.record(happening(0, "FRR", 1));
  timeline.write(rows);
  const entries = entriesOf({ rows });
  expect(entries).toHaveLength(MAX_ENTRIES);
  expect(entries[0]?.time).toBe(timeAt(MAX_ENTRIES * 120).replace(".000", ""));
});

const near = (time: string, seconds: number) => Math.abs(Date.parse(time) - +at(seconds)) <= TOGETHER_MS;
/** The row has the first twenty only. */
const hasNode = ({ components, count }: TimelineRow, kind: string, node: string) =>
  components[0]?.kind === kind && (count > components.length || components.some((one) => one.node === node));

function emptyTimeline() {
  const rows = new RowStore();
  rows.begin();
  return { timeline: new Timeline(refsOfComponents(CONFIG_NAMESPACES)), rows };
}

function happening(seconds: number, kind: string, nth: number): Happening {
  const component = { kind, name: "eth1", node: `n${nth}` };
  return { id: `${seconds} ${kind} ${nth}`, component, time: +at(seconds), what: "failed", source: "health", health: "Down" };
}

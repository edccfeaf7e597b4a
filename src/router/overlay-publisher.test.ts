import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConfigMap } from "../api/core/config-map.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import type { Change } from "../kube/cache/cache.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { createLog } from "../kube/log.ts";
import { emptyMembers, printMembers } from "../kube/members/members.ts";
import { overlayPublisher } from "./overlay-publisher.ts";
import { parseOverlayMap } from "./probes/overlay-map.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const vni = (number: number, type: "L2" | "L3") => ({ vni: number, type, vrf: "red", state: "Down" });
const report = (name: string, vtep: string | undefined, ...vnis: ReturnType<typeof vni>[]): RouterNodeConfigurationStatus => ({
  metadata: { name, namespace: "openperouter-system" },
  status: { vnis, ...(vtep !== undefined && { overlay: { vtep } }) },
});

const synced = () => Promise.resolve();

test("publishes VTEP and VNIs of each node with an index beside the members, and writes only changes", async () => {
  const members = printMembers({ ...emptyMembers, live: ["a"], indexes: { a: { index: 3 }, b: { index: 7 }, c: { index: 9 } } });
  let stored: ConfigMap = { metadata: { name: "plumbline-members", namespace: "system" }, data: { ...members, other: "kept" } };
  const reports = [report("a", "100.65.0.3", vni(120, "L2"), vni(110, "L2"), vni(100, "L3")), report("b", "100.65.0.7", vni(110, "L2"))];
  // Without a VTEP, and without an index.
  reports.push(report("c", undefined, vni(110, "L2")), report("new", "100.65.0.8", vni(110, "L2")));
  const written: ConfigMap[] = [];
  let changed: ((change: Change<RouterNodeConfigurationStatus>) => void) | undefined;
  const publisher = overlayPublisher({
    client: {
      resource: () => ({
        replace: (object: ConfigMap) => {
          written.push(object);
          stored = object;
          return Promise.resolve(object);
        },
      }),
    } as unknown as KubeClient,
    namespace: "system",
    reports: {
      list: () => reports,
      subscribe: (listener) => {
        changed = listener;
        return () => {};
      },
      waitForSync: synced,
    },
    members: { get: () => stored, list: () => [stored], subscribe: () => () => {}, waitForSync: synced },
    log: createLog({ level: "silent" }),
  });
  const stop = new AbortController();
  const running = publisher.run(stop.signal);
  const change = (index: number) => changed?.({ type: "updated", object: reports[index] as never, old: reports[index] as never });
  change(0);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(written).toHaveLength(1);
  expect(written[0]?.data).toMatchObject({ ...members, other: "kept" });
  expect(parseOverlayMap(stored).nodes).toEqual(
    new Map([
      ["a", { index: 3, vtep: "100.65.0.3", l2: [110, 120], l3: [100] }],
      ["b", { index: 7, vtep: "100.65.0.7", l2: [110], l3: [] }],
    ]),
  );
  change(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(written).toHaveLength(1);
  reports[1] = report("b", "100.65.0.7", vni(110, "L2"), vni(130, "L2"));
  change(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(written).toHaveLength(2);
  stop.abort();
  await running;
});

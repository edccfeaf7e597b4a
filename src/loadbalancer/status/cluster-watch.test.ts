import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Namespace } from "../../api/core/namespace.ts";
import { Node } from "../../api/core/node.ts";
import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { Community } from "../../api/metallb/community.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { Change } from "../../kube/cache/cache.ts";
import { createLog } from "../../kube/log.ts";
import { ClusterConfig } from "./cluster-config.ts";
import { clusterWatch } from "./cluster-watch.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function cached<T extends KubeObject>(kind: Kind<T>) {
  const objects = new Map<string, T>();
  const listeners = new Set<(change: Change<T>) => void>();
  return {
    kind,
    list: () => [...objects.values()],
    waitForSync: () => Promise.resolve(),
    subscribe(listener: (change: Change<T>) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    put(object: T) {
      objects.set(object.metadata.name, object);
      for (const listener of listeners) listener({ type: "added", object, initial: false });
    },
  };
}

async function watched() {
  const sources = {
    pools: cached(IPAddressPool),
    peers: cached(BGPPeer),
    bfdProfiles: cached(BFDProfile),
    bgpAdvertisements: cached(BGPAdvertisement),
    l2Advertisements: cached(L2Advertisement),
    communities: cached(Community),
    namespaces: cached(Namespace),
    nodes: cached(Node),
  };
  const routers = { passthroughs: cached(L3Passthrough), l3vnis: cached(L3VNI), reports: cached(RouterNodeConfigurationStatus) };
  const recorded: string[] = [];
  const view = new ClusterConfig(sources, {
    ignoreExclude: false,
    states: cached(ConfigurationState),
    sessions: cached(BGPSessionStatus),
    routers,
  });
  const watching = clusterWatch({
    view,
    agents: { living: () => [], subscribe: () => () => undefined, ready: () => Promise.resolve() },
    events: { record: ({ metadata }, { reason, message }) => recorded.push(`${reason} ${metadata.name}: ${message}`) },
    onLoaded: () => undefined,
    onChange: () => undefined,
    log: createLog({ level: "silent" }),
  });
  const end = new AbortController();
  const running = watching.run(end.signal);
  await vi.advanceTimersByTimeAsync(0);
  const stop = async () => {
    end.abort();
    await running;
  };
  return { sources, recorded, stop, view };
}

const metadata = (name: string) => ({
  name,
  namespace: "metallb-system",
  uid: name,
  generation: 1,
  creationTimestamp: "2026-01-01T00:00:00Z",
});
const pool: IPAddressPool = {
  metadata: metadata("main"),
  spec: { addresses: ["192.0.2.0/24"], autoAssign: true, avoidBuggyIPs: false },
};

test("many edits are loaded a few times, including the last one", async () => {
  const { sources, view, stop } = await watched();
  const loadedGenerations: unknown[] = [];
  vi.spyOn(view, "load").mockImplementation(() => {
    loadedGenerations.push(sources.pools.list()[0]?.metadata.generation);
    vi.advanceTimersByTime(100);
    return false;
  });
  for (let nth = 0; nth < 200; nth++) {
    sources.pools.put({ ...pool, metadata: { ...metadata("main"), generation: nth } });
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(2_000);
  // Two seconds of edits, and each look takes a tenth of one.
  expect(loadedGenerations.length).toBeLessThan(9);
  expect([loadedGenerations[0], loadedGenerations.at(-1)]).toEqual([0, 199]);
  sources.pools.put({ ...pool, metadata: { ...metadata("main"), generation: 200 } });
  await vi.advanceTimersByTimeAsync(0);
  expect(loadedGenerations.at(-1)).toBe(200);
  await stop();
});

test("an unadvertised pool gets one warning, after a delay for its advertisement", async () => {
  const { sources, recorded, stop } = await watched();
  sources.pools.put(pool);
  await vi.advanceTimersByTimeAsync(5000);
  expect(recorded).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  sources.namespaces.put({ metadata: metadata("shop") });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(recorded).toEqual([expect.stringMatching(/^Ineffective main: No BGPAdvertisement or L2Advertisement covers IPAddressPool main/)]);
  await stop();
});

test("a pool whose advertisement comes in time gets no warning", async () => {
  const { sources, recorded, stop } = await watched();
  sources.pools.put(pool);
  await vi.advanceTimersByTimeAsync(5000);
  sources.l2Advertisements.put({ metadata: metadata("all"), spec: {} });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(recorded).toEqual([]);
  await stop();
});

import { generateKeyPairSync } from "node:crypto";
import { expect, test, vi } from "vitest";
import type { ConfigMap } from "../api/core/config-map.ts";
import { createLog } from "../kube/log.ts";
import { emptyMembers, membersName, printMembers } from "../kube/members/members.ts";
import { routerOverlayMapUnreadable } from "./metrics.ts";
import { Overlay } from "./overlay.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const VXLAN = { type: "vxlan", name: "vni110", local: "100.65.0.1", master: "br-pe-110" };
const BRIDGE = { name: "br-pe-110", index: 7, mtu: 1450 };

const published = (overlaySets: string): ConfigMap => ({
  metadata: { name: membersName, namespace: "plumbline-system" },
  data: {
    ...printMembers({ ...emptyMembers, indexes: { node1: { index: 1 } } }),
    overlayNodes: '{"node1":[1,"100.65.0.1"]}',
    overlaySets,
  },
});
const value = async () => (await routerOverlayMapUnreadable.get()).values[0]?.value;

test("an object with more VNIs than there can be is a metric, until it can be read", async () => {
  let stored = published('[["1-10001","","1"]]');
  const overlay = new Overlay({
    systemNamespace: "plumbline-system",
    signingKey: { privateKey, publicKey: "" },
    observe: () => Promise.resolve({ links: new Map([[BRIDGE.name, BRIDGE]]), routerMacs: new Map(), vteps: new Map() }),
    manager: { lateCache: () => ({ get: () => stored }) },
    log: createLog({ level: "silent" }),
    node: "node1",
    router: { namespaces: { router: "no-such-namespace" }, vnis: [{ vni: 110, type: "L2", vrf: "default", links: [VXLAN] }] },
    isConnected: () => true,
    onChange: () => undefined,
    onRepaired: () => undefined,
  } as unknown as ConstructorParameters<typeof Overlay>[0]);
  const stop = new AbortController();
  const running = overlay.run(stop.signal);
  try {
    await vi.waitFor(async () => expect(await value()).toBe(1), { timeout: 60_000 });
    stored = published('[["110","","1"]]');
    overlay.linksChanged();
    await vi.waitFor(async () => expect(await value()).toBe(0), { timeout: 60_000 });
  } finally {
    stop.abort();
    await running;
  }
});

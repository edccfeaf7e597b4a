import { expect, test, vi } from "vitest";
import { Node } from "../../api/core/node.ts";
import type { Kind } from "../../api/kind.ts";
import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { Community } from "../../api/metallb/community.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { fixedAccess } from "../../kube/testing/fixed-access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { Manager } from "../../kube/controller/manager.ts";
import { createLog } from "../../kube/log.ts";
import { addControllerComponents } from "./controller-components.ts";
import { addWebhooks } from "./webhooks.ts";

test("webhook and controller in one process watch every kind once", () => {
  const client = new KubeClient(fixedAccess("http://127.0.0.1:1"));
  const log = createLog({ level: "silent" });
  const manager = new Manager({ client, log });
  const cacheCalls = vi.spyOn(manager, "cache");
  const own = { manager, client, log, namespace: "plumbline-system" };
  addWebhooks({ ...own, metallbNamespace: "metallb-system", port: 0 });
  addControllerComponents({
    ...own,
    routerNamespace: "openperouter-system",
    loadBalancer: { namespace: "metallb-system" },
    waitForOldWrites: async () => {},
  });
  const cachesOf = (kind: Kind) =>
    new Set(cacheCalls.mock.results.filter((_, nth) => cacheCalls.mock.calls[nth]?.[0] === kind).map(({ value }) => value as unknown));
  for (const kind of [IPAddressPool, BGPPeer, BFDProfile, BGPAdvertisement, L2Advertisement, Community, Node] as unknown as Kind[]) {
    expect(cacheCalls.mock.calls.filter(([asking]) => asking === kind).length).toBeGreaterThan(1);
    expect([kind.kind, cachesOf(kind).size]).toEqual([kind.kind, 1]);
  }
  client.close();
});

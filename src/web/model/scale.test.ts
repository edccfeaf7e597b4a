import { expect, test } from "vitest";
import { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { announcement, node, pictureOf, pool, routerStatus, service, session } from "../testing/fixtures.ts";
import { VIEW_NAMES } from "../api.ts";
import type { Held } from "./row-store.ts";

const NODES = Array.from({ length: 500 }, (_, number) => `node${number + 1}`);
const SERVICES = Array.from({ length: 100 }, (_, number) => `web${number + 1}`);
const KIB = 1024;
const all = (held: Held) => held.text;

test("500 nodes with 100 services are sent within half a megabyte, and a change costs the few rows that show it", () => {
  const picture = pictureOf();
  for (const name of NODES) {
    picture.put(Node, node(name));
    picture.put(RouterNodeConfigurationStatus, routerStatus(name));
    picture.put(BGPSessionStatus, session(name));
  }
  picture.put(IPAddressPool, pool("edge"));
  for (const name of SERVICES) {
    picture.put(Service, service("shop", name));
    for (const on of NODES) picture.put(ServiceBGPStatus, announcement("shop", name, on));
  }
  picture.refresh();
  const { rows } = picture;
  expect(Math.max(...VIEW_NAMES.map((view) => rows.snapshot(view, all).length))).toBeLessThan(512 * KIB);

  const cost = (change: () => void) => {
    const [painted, revision] = [picture.painted, rows.revision];
    change();
    picture.refresh();
    const sent = VIEW_NAMES.flatMap((view) => rows.since(revision, view, all) ?? []).join("");
    return { painted: picture.painted - painted, rows: sent.match(/"type":/g)?.length ?? 0, bytes: sent.length };
  };
  const ofRouter = cost(() => picture.put(RouterNodeConfigurationStatus, routerStatus("node7", "Active")));
  expect(ofRouter.painted).toBeLessThan(10);
  expect(ofRouter.bytes).toBeLessThan(8 * KIB);
  const ofAnnouncement = cost(() => picture.put(ServiceBGPStatus, announcement("shop", "web3", "node9", [])));
  expect(ofAnnouncement.painted).toBeLessThan(10);
  expect(ofAnnouncement.rows).toBeGreaterThan(0);
  expect(ofAnnouncement.bytes).toBeLessThan(8 * KIB);
  expect(cost(() => picture.put(RouterNodeConfigurationStatus, routerStatus("node8")))).toMatchObject({ rows: 0, bytes: 0 });
});

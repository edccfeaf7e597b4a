import { expect, test } from "vitest";
import { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { announcement, node, modelOf, pool, routerStatus, service, session } from "../testing/fixtures.ts";
import { VIEW_NAMES } from "../api.ts";
import type { StoredRow } from "./row-store.ts";

const NODES = Array.from({ length: 500 }, (_, number) => `node${number + 1}`);
const SERVICES = Array.from({ length: 100 }, (_, number) => `web${number + 1}`);
const KIB = 1024;
const all = (stored: StoredRow) => stored.text;

test("500 nodes with 100 Services take less than half a megabyte, and a change sends only its few rows", () => {
  const model = modelOf();
  for (const name of NODES) {
    model.put(Node, node(name));
    model.put(RouterNodeConfigurationStatus, routerStatus(name));
    model.put(BGPSessionStatus, session(name));
  }
  model.put(IPAddressPool, pool("edge"));
  for (const name of SERVICES) {
    model.put(Service, service("shop", name));
    for (const on of NODES) model.put(ServiceBGPStatus, announcement("shop", name, on));
  }
  model.refresh();
  const { rows } = model;
  expect(Math.max(...VIEW_NAMES.map((view) => rows.snapshot(view, all).length))).toBeLessThan(512 * KIB);

  const cost = (change: () => void) => {
    const [built, revision] = [model.built, rows.revision];
    change();
    model.refresh();
    const sent = VIEW_NAMES.flatMap((view) => rows.since(revision, view, all) ?? []).join("");
    return { built: model.built - built, rows: sent.match(/"type":/g)?.length ?? 0, bytes: sent.length };
  };
  const ofRouter = cost(() => model.put(RouterNodeConfigurationStatus, routerStatus("node7", "Active")));
  expect(ofRouter.built).toBeLessThan(10);
  expect(ofRouter.bytes).toBeLessThan(8 * KIB);
  const ofAnnouncement = cost(() => model.put(ServiceBGPStatus, announcement("shop", "web3", "node9", [])));
  expect(ofAnnouncement.built).toBeLessThan(10);
  expect(ofAnnouncement.rows).toBeGreaterThan(0);
  expect(ofAnnouncement.bytes).toBeLessThan(8 * KIB);
  expect(cost(() => model.put(RouterNodeConfigurationStatus, routerStatus("node8")))).toMatchObject({ rows: 0, bytes: 0 });
});

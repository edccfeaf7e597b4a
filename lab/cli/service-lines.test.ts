import { expect, test } from "vitest";
import type { AnnouncedService } from "./announced-services.ts";
import { ServiceChanges, serviceLines } from "./service-lines.ts";

const WEB: AnnouncedService = { key: "default/web", addresses: ["10.200.0.1"], clusterIPs: [], ports: [80], bgp: ["node1", "node2"] };
const WIKI: AnnouncedService = { key: "default/wiki", addresses: ["10.30.0.100"], clusterIPs: [], ports: [80], bgp: [], l2: "node3" };

const went = (last?: { by?: string; why?: string }) => ({
  tally: () => ({ ok: 2, failed: 1, ...(last && { last: { name: "", at: 0, ms: 1, ...last } }) }),
});

test("a line has address, announcers, protocol and connections of a Service", () => {
  expect(serviceLines([WEB, WIKI], went({ by: "web-1" }))).toEqual([
    "Service default/web 10.200.0.1 over BGP from node1, node2; connections: 2 ok, 1 failed, last answered by web-1",
    "Service default/wiki 10.30.0.100 on its segment by node3; connections: 2 ok, 1 failed, last answered by web-1",
  ]);
  expect(serviceLines([{ ...WEB, bgp: [] }], went({ why: "ECONNREFUSED" }))).toEqual([
    "Service default/web 10.200.0.1 not announced; connections: 2 ok, 1 failed, last failed: ECONNREFUSED",
  ]);
  expect(serviceLines([{ ...WEB, addresses: [] }], went())).toEqual(["Service default/web without an address"]);
});

test("in a log a Service is repeated only when its announcers change, or connections start or stop to succeed", () => {
  let last: { by?: string; why?: string } | undefined;
  const news = new ServiceChanges({ tally: () => went(last).tally() });
  expect(news.of([WEB])).toEqual(["Service default/web 10.200.0.1 over BGP from node1, node2"]);
  last = { by: "web-1" };
  expect(news.of([WEB])).toEqual(["Service default/web 10.200.0.1 over BGP from node1, node2; connections pass"]);
  last = { by: "web-2" };
  expect(news.of([WEB])).toEqual([]);
  last = { why: "no answer" };
  expect(news.of([WEB])).toEqual(["Service default/web 10.200.0.1 over BGP from node1, node2; connections fail"]);
});

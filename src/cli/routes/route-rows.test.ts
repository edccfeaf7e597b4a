import { expect, test } from "vitest";
import type { BgpNeighbor } from "../../frr/neighbors.ts";
import type { InstanceRoutes } from "./read-routes.ts";
import { routeRows, sessionCounts } from "./route-rows.ts";

const neighbor = (name: string, more: Partial<BgpNeighbor> = {}): BgpNeighbor => ({
  vrf: "default",
  neighbor: name,
  address: name,
  state: "Established",
  sentPrefixes: 1,
  receivedPrefixes: 1,
  messages: {} as BgpNeighbor["messages"],
  ...more,
});

const node1: InstanceRoutes = {
  node: "node1",
  instance: "router",
  neighbors: [
    neighbor("192.0.2.1"),
    neighbor("eth1", { address: "fe80::1" }),
    neighbor("10.0.0.2", { vrf: "red", state: "Active", sentPrefixes: 0 }),
  ],
  routes: [
    {
      vrf: "default",
      prefix: "10.1.0.0/24",
      paths: [
        { from: "192.0.2.1", isSelected: true },
        { from: "fe80::1", isSelected: false },
      ],
      advertisedTo: ["eth1"],
    },
    { vrf: "red", prefix: "10.2.0.0/24", paths: [{ isSelected: true }, { from: "198.51.100.2", isSelected: true }], advertisedTo: [] },
  ],
  kernel: new Set(["default 10.1.0.0/24", "red 10.1.0.0/24"]),
};

test("a prefix has a row for each session of the VRF, then for other VRFs and the node itself", () => {
  const short = routeRows(node1).map(({ vrf, peer = "own", state = "-", sent, received, selected, inKernel }) =>
    [vrf, peer, state, ...[sent, received, selected, inKernel].map(Number)].join(" "),
  );
  expect(short).toEqual([
    "default 192.0.2.1 Established 0 1 1 1",
    "default eth1 Established 1 1 0 0",
    "red 10.0.0.2 Active 0 0 0 0",
    "red own - 0 1 1 0",
    "red 198.51.100.2 - 0 1 1 0",
  ]);
});

test("without a prefix each session has its counts", () => {
  const short = sessionCounts(node1).map(({ vrf, peer = "own", sent, received, selected, inKernel }) =>
    [vrf, peer, sent, received, selected, inKernel].join(" "),
  );
  expect(short).toEqual([
    "default 192.0.2.1 1 1 1 1",
    "default eth1 1 1 0 0",
    "red 10.0.0.2 0 0 0 0",
    "red own 0 1 1 0",
    "red 198.51.100.2 0 1 1 0",
  ]);
});

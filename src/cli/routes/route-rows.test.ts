import { expect, test } from "vitest";
import type { BgpNeighbor } from "../../frr/neighbors.ts";
import type { InstanceRoutes } from "./read-routes.ts";
import { exitCodeOf, routeRows, sessionCounts } from "./route-rows.ts";

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

test.each<[number, string, string, boolean, boolean]>([
  [0, "an announced prefix", "10.1.0.0/24", true, true],
  [1, "one that no session sends", "10.1.0.0/24", false, true],
  [1, "an address to which only the default route leads", "0.0.0.0/0", true, true],
  [3, "one that may be on a node that could not be read", "10.1.0.0/24", false, false],
  [3, "one that is sent, but not all nodes could be read", "10.1.0.0/24", true, false],
])("exit code %i for %s", (code, _what, prefix, sent, isComplete) => {
  expect(exitCodeOf([{ prefix, sent }], ["10.1.0.7"], { isComplete })).toBe(code);
});

test("a default route that was asked for is enough", () => {
  expect(exitCodeOf([{ prefix: "::/0", sent: true }], ["::/0"], { isComplete: true })).toBe(0);
});

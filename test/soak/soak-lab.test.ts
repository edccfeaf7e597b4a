import { expect, test } from "vitest";
import type { AnnouncedService } from "../../lab/cli/announced-services.ts";
import { givenTwice } from "./soak-lab.ts";

const service = (key: string, ...addresses: string[]): AnnouncedService => ({ key, addresses, clusterIPs: [], ports: [80], bgp: [] });

test("an address that two Services have is found, and each that has its own is left in peace", () => {
  expect(givenTwice([service("a/web", "10.0.0.1", "fd00::1"), service("a/wiki", "10.0.0.2")])).toEqual([]);
  expect(givenTwice([service("a/web", "10.0.0.1"), service("a/wiki", "10.0.0.2", "10.0.0.1")])).toEqual([
    "10.0.0.1 is given to a/web and a/wiki",
  ]);
});

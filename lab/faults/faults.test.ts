import { expect, test } from "vitest";
import { FAULTS } from "./faults.ts";

/** The faults whose expectation these words would meet. */
function faultsReportedBy(text: (fault: string) => string): string[] {
  return Object.keys(FAULTS).filter((name) => FAULTS[name]?.expect?.("node2").says.test(text(name)));
}

test("a new Service without an address does not indicate a fault", () => {
  expect(faultsReportedBy((name) => `Service default/${name}: has no address`)).toEqual([]);
});

test("another repair does not indicate a fault of a router", () => {
  expect(faultsReportedBy(() => "Event DriftRepaired of ConfigurationState speaker-node3")).toEqual([]);
  expect(faultsReportedBy(() => "Event DriftRepaired of L2VNI shop")).toEqual(["bridge-deleted", "address-flushed"]);
  const settings = ["forwarding-off", "forwarding-all-off", "rp-filter-strict"];
  expect(faultsReportedBy(() => "Event DriftRepaired of Underlay underlay")).toEqual(settings);
});

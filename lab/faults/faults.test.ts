import { readFile } from "node:fs/promises";
import { join } from "node:path";
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

test("docs/lab.md has the counts of these faults", async () => {
  const page = await readFile(join(import.meta.dirname, "../../docs/lab.md"), "utf8");
  const inDrill = Object.values(FAULTS).filter(({ expect: expected }) => expected !== undefined);
  expect(page).toContain(`lists all ${Object.keys(FAULTS).length} faults`);
  expect(page).toContain(`\n${inDrill.length} faults: `);
});

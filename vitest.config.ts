import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What boots a lab of routers, the longest first. User-Mode Linux has one processor, so that two of them leave each other in peace. */
const ROUTER_LABS = [
  "test/router/e2e.test.ts",
  "test/router/e2e-edits.test.ts",
  "test/hostnet/vrf.test.ts",
  "test/lab/router-lab.test.ts",
  "test/lab/machine.test.ts",
  "test/cli/up-router.test.ts",
];
/** What is about sessions that fall within a second and attempts that are answered in time. One at a time and alone: a machine that stalls is no fault of ours. */
const LABS = ["test/loadbalancer/e2e*.test.ts", "test/connectivity/e2e.test.ts"];
/** No test is about time. */
const patience = { testTimeout: 300_000, hookTimeout: 300_000 };

/** Nobody knows how long a suite takes that has never run here. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  return ROUTER_LABS.findIndex((file) => moduleId.endsWith(file));
}

export default defineConfig({
  test: {
    isolate: false,
    pool: "threads",
    // Most suites wait for real parts most of the time; left to itself vitest takes one core less than there are, and on two runs one suite at a time.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: "unit", include: ["{src,lab,tools,bench}/**/*.test.ts"], testTimeout: 60_000 } },
      {
        extends: true,
        test: {
          name: "integration",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...ROUTER_LABS, ...LABS],
          globalSetup: ["test/support/global-setup.ts"],
          ...patience,
        },
      },
      { extends: true, test: { name: "router labs", include: ROUTER_LABS, ...patience, sequence: { groupOrder: 1 } } },
      { extends: true, test: { name: "labs", include: LABS, ...patience, maxWorkers: 1, sequence: { groupOrder: 2 } } },
    ],
  },
});

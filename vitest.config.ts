import { configDefaults, defineConfig } from "vitest/config";

/** What boots a lab. One at a time and alone: a stalled machine drops BGP sessions, which is no fault of ours. */
const LAB = [
  "test/router/e2e*.test.ts",
  "test/loadbalancer/e2e*.test.ts",
  "test/connectivity/e2e.test.ts",
  "test/lab/router-lab.test.ts",
  "test/lab/machine.test.ts",
  "test/hostnet/vrf.test.ts",
  "test/cli/up-router.test.ts",
];
const patience = { testTimeout: 120_000, hookTimeout: 120_000 };

export default defineConfig({
  test: {
    isolate: false,
    pool: "threads",
    // Most suites wait for real parts most of the time; left to itself vitest takes one core less than there are, and on two runs one suite at a time.
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: "unit", include: ["{src,lab,tools,bench}/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "integration",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...LAB],
          globalSetup: ["test/support/global-setup.ts"],
          ...patience,
        },
      },
      {
        extends: true,
        test: {
          name: "lab",
          include: LAB,
          ...patience,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * What boots a lab, the longest first. They wait for sessions and timers half of the time: three leave each other in peace on two processors, and nothing else runs
 * beside them.
 */
const LABS = [
  "test/drill/drill.test.ts",
  "test/router/e2e.test.ts",
  "test/loadbalancer/e2e.test.ts",
  "test/router/e2e-edits.test.ts",
  "test/soak/lab.test.ts",
  "test/hostnet/vrf.test.ts",
  "test/loadbalancer/e2e-vrf.test.ts",
  "test/connectivity/e2e.test.ts",
  "test/lab/one-lab.test.ts",
  "test/lab/router-lab.test.ts",
  "test/lab/two-tors.test.ts",
  "test/lab/machine.test.ts",
  "test/cli/up-router.test.ts",
];
/** On a machine that is too slow they fail, because time is what they are about. */
const SOAK_ONLY = process.env["PLUMBLINE_SOAK_MINUTES"] === undefined ? ["test/soak/planned-changes.test.ts"] : [];
/** They use all of the processor, and other suites beside them would wait in vain. Those that only wait are in waiting.test.ts, among the others. */
const BENCHES = "test/bench/benches.test.ts";
/** Of the other suites those that take a minute: begun last they would be waited for alone. */
const LONG = [
  "test/failover/moves.test.ts",
  "test/router/probes.test.ts",
  "test/bench/waiting.test.ts",
  "test/loadbalancer/bgp-sessions.test.ts",
  "test/fuzz/webhook.test.ts",
  "test/failover/kill.test.ts",
  "test/failover/kill-peer.test.ts",
  "test/kube/chaos.test.ts",
  "test/loadbalancer/status-l2.test.ts",
  "test/loadbalancer/speaker-outages.test.ts",
  "test/loadbalancer/l2.test.ts",
  "test/failover/two-sites.test.ts",
  "test/lab/two-sites.test.ts",
  "test/failover/site.test.ts",
  "test/router/render.test.ts",
  "test/loadbalancer/bgp-oracle.test.ts",
  "test/frr/apply-oracle.test.ts",
  "test/embedded/files-many.test.ts",
  "test/failover/drill.test.ts",
  "test/failover/faults.test.ts",
  "test/api/differential.test.ts",
  "test/lab/kube.test.ts",
  "test/loadbalancer/bgp-options.test.ts",
  "test/kube/status-cleaner.test.ts",
  "test/hostnet/links.test.ts",
  "test/fuzz/page.test.ts",
  "test/fuzz/embedded.test.ts",
];
/** Longest first, of those that run together. */
const ORDER = [...LONG, ...LABS];
/** No test is about time. */
const patience = { testTimeout: 600_000, hookTimeout: 600_000 };

/** Nobody knows how long a suite takes that has never run here. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => sequenceOf(one) - sequenceOf(other));
  }
}

function sequenceOf({ moduleId }: TestSpecification): number {
  const position = ORDER.findIndex((file) => moduleId.endsWith(`/${file}`));
  return position < 0 ? ORDER.length : position;
}

export default defineConfig({
  test: {
    isolate: false,
    pool: "threads",
    // Suites wait for real parts most of the time: one of them takes less than half a core.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: "unit", include: ["{src,lab,tools,bench}/**/*.test.ts"], testTimeout: 300_000 } },
      {
        extends: true,
        test: {
          name: "integration",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...LABS, ...SOAK_ONLY, BENCHES],
          globalSetup: ["test/support/global-setup.ts"],
          ...patience,
        },
      },
      { extends: true, test: { name: "labs", include: LABS, ...patience, maxWorkers: 3, sequence: { groupOrder: 1 } } },
      { extends: true, test: { name: "benches", include: [BENCHES], ...patience, maxWorkers: 1, sequence: { groupOrder: 2 } } },
    ],
  },
});

// Not the global one: fake timers replace its methods, and suites share this registry.
import { performance } from "node:perf_hooks";
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import gc from "prom-client/lib/metrics/gc.js";
import heapSizeAndUsed from "prom-client/lib/metrics/heapSizeAndUsed.js";
import osMemoryHeap from "prom-client/lib/metrics/osMemoryHeap.js";
import processMaxFileDescriptors from "prom-client/lib/metrics/processMaxFileDescriptors.js";
import processOpenFileDescriptors from "prom-client/lib/metrics/processOpenFileDescriptors.js";
import processStartTime from "prom-client/lib/metrics/processStartTime.js";
import version from "prom-client/lib/metrics/version.js";
import { registry } from "./metrics.ts";

/** Adds process_* and nodejs_* once, for programs that serve them. */
export function collectProcessMetrics(): void {
  if (registry.getSingleMetric("process_cpu_seconds_total")) return;
  collectCpu();
  for (const collect of [
    osMemoryHeap,
    processStartTime,
    processOpenFileDescriptors,
    processMaxFileDescriptors,
    heapSizeAndUsed,
    version,
    gc,
  ]) {
    collect(registry);
  }
  collectLoopUtilization();
}

/**
 * Instead of prom-client's lag, which wakes an idle process a hundred times a second, or with a coarser timer reports the timer's own
 * period as lag.
 */
function collectLoopUtilization(): void {
  let last = performance.eventLoopUtilization();
  const utilization = new Gauge({
    name: "nodejs_eventloop_utilization",
    help: "The share of time since the last scrape in which the event loop was busy.",
    registers: [],
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, last).utilization);
      last = now;
    },
  });
  registry.registerMetric(utilization);
}

/** As prom-client's own, without the 8 MB of OpenTelemetry that it loads for one exemplar. */
function collectCpu(): void {
  const seconds = new Counter({
    name: "process_cpu_seconds_total",
    help: "Total user and system CPU time spent in seconds.",
    registers: [],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  registry.registerMetric(seconds);
}

import Counter from "prom-client/lib/counter.js";
import eventLoopLag from "prom-client/lib/metrics/eventLoopLag.js";
import gc from "prom-client/lib/metrics/gc.js";
import heapSizeAndUsed from "prom-client/lib/metrics/heapSizeAndUsed.js";
import osMemoryHeap from "prom-client/lib/metrics/osMemoryHeap.js";
import processMaxFileDescriptors from "prom-client/lib/metrics/processMaxFileDescriptors.js";
import processOpenFileDescriptors from "prom-client/lib/metrics/processOpenFileDescriptors.js";
import processStartTime from "prom-client/lib/metrics/processStartTime.js";
import version from "prom-client/lib/metrics/version.js";
import { registry } from "./metrics.ts";

/** Adds process_* and nodejs_* once; for programs that serve them, since there are timers behind. */
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
  // The default of 10 ms wakes an idle process a hundred times a second only to find that it is idle.
  eventLoopLag(registry, { eventLoopMonitoringPrecision: 500 });
}

/** As prom-client's own, without the 8 MB of OpenTelemetry that it brings for the sake of one exemplar. */
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

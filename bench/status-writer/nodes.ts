import type { Condition } from "../../src/api/kind.ts";
import type { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import type { DesiredStatus } from "../../src/kube/status/plan.ts";

type Report = Exclude<DesiredStatus<RouterNodeConfigurationStatus>["status"], (...args: never) => unknown>;

export const nameOf = (n: number) => `node-${n}`;

/** The status of the agent on one node, a new object each time as in a reconcile. */
export function reportOf(n: number, ready: Condition["status"]): Report {
  const vnis = Array.from({ length: 8 }, (_, index) => 100 + index);
  return {
    conditions: [
      { type: "Ready", status: ready, reason: "Applied", message: "All configuration applied successfully" },
      { type: "Degraded", status: "False", reason: "Applied", message: "Nothing failed" },
      { type: "SessionsEstablished", status: "True", reason: "Established", message: "2 of 2 BGP sessions established" },
    ],
    failedResources: [],
    resources: vnis.map((vni) => ({ kind: "L3VNI", name: `tenant-${vni}`, generation: 1, state: "Applied" })),
    sessions: [1, 2].map((tor) => ({ vrf: "default", neighbor: `192.168.${n % 250}.${tor}`, state: "Established" })),
    vnis: vnis.map((vni) => ({ vni, type: "L3", vrf: `tenant-${vni}`, state: "Up" })),
  };
}

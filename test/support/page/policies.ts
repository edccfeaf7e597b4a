import type { PolicyRow } from "../../../src/web/api.ts";
import { ago, NOW } from "./health.ts";

/** Seconds into the switch that is running. */
const at = (seconds: number) => new Date(NOW - 200_000 + seconds * 1_000).toISOString();

export function policyRow(): PolicyRow {
  return {
    type: "policy",
    key: "policy/shop/shop",
    id: "FailoverPolicy/shop/shop",
    namespace: "shop",
    name: "shop",
    desired: "secondary",
    current: "mixed",
    mode: "safe",
    health: "Degraded",
    phase: "InProgress",
    message: "AwaitVolumes waits: VolumeReplication data-db-0 has not everything yet",
    since: at(0),
    token: { epoch: 7, state: "Held" },
    peer: { reachable: true, desired: "primary" },
    transition: {
      to: "secondary",
      mode: "safe",
      start: at(0),
      steps: [
        { name: "SuspendFlux", state: "Done", start: at(0), end: at(2) },
        { name: "UpdateDNS", state: "Done", start: at(2), end: at(9) },
        { name: "ScaleDown", state: "Done", start: at(9), end: at(14) },
        { name: "AwaitTermination", state: "Done", start: at(14), end: at(87) },
        { name: "DemoteVolumes", state: "Done", start: at(87), end: at(90) },
        {
          name: "AwaitVolumes",
          state: "Waiting",
          start: at(90),
          waitingFor: {
            kind: "VolumeReplication",
            namespace: "shop",
            name: "data-db-0",
            message: "has not everything yet",
            others: 2,
            since: at(92),
          },
        },
        { name: "ReleaseToken", state: "Pending" },
      ],
    },
    history: [
      past("primary", 21, [3, 40, 62, 18, 31, 9]),
      past("secondary", 9_000, [2, 52, 85, 22, 40, 10]),
      past("primary", 31_000, [3, 35, 44, 15, 28, 8], "Superseded"),
    ],
    workloads: { ok: 1, total: 3 },
    volumes: { ok: 0, total: 2 },
  };
}

const NAMES = {
  primary: ["TakeToken", "PromoteVolumes", "UpdateDNS", "AwaitVolumes", "ResumeFlux", "RestoreWorkloads"],
  secondary: ["SuspendFlux", "UpdateDNS", "AwaitTermination", "DemoteVolumes", "AwaitVolumes", "ReleaseToken"],
};

function past(
  to: "primary" | "secondary",
  minutes: number,
  seconds: number[],
  outcome: "Completed" | "Superseded" = "Completed",
): PolicyRow["history"][number] {
  const names = NAMES[to];
  const total = seconds.reduce((sum, one) => sum + one, 0);
  const steps = names.map((name, at) => ({ name, seconds: seconds[at] ?? 0 }));
  return { to, mode: "safe", start: ago(minutes + total / 60), end: ago(minutes), outcome, seconds: total, steps };
}

export function completedPolicy(): PolicyRow {
  return {
    type: "policy",
    key: "policy/bank/ledger",
    id: "FailoverPolicy/bank/ledger",
    namespace: "bank",
    name: "ledger",
    desired: "secondary",
    current: "secondary",
    health: "Healthy",
    phase: "Complete",
    since: ago(3_000),
    history: [past("secondary", 3_000, [2, 30, 41, 12, 25, 6])],
    workloads: { ok: 4, total: 4 },
    volumes: { ok: 2, total: 2 },
  };
}

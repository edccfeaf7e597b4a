import type { PolicyRow } from "../../../src/web/views.ts";
import { ago, NOW } from "./verdicts.ts";

/** Seconds into the switch that is running. */
const at = (seconds: number) => new Date(NOW - 200_000 + seconds * 1_000).toISOString();

export function policyRow(): PolicyRow {
  return {
    type: "policy",
    key: "policy/shop/shop",
    id: "FailoverPolicy/shop/shop",
    namespace: "shop",
    name: "shop",
    desired: "primary",
    current: "mixed",
    mode: "safe",
    health: "Degraded",
    phase: "InProgress",
    message: "PromoteVolumes waits for ReplicationSource data",
    since: at(0),
    token: { epoch: 7, state: "Held" },
    peer: { reachable: true, desired: "secondary" },
    transition: {
      to: "primary",
      mode: "safe",
      start: at(0),
      steps: [
        { name: "TakeToken", state: "Done", start: at(0), end: at(3) },
        { name: "StopOther", state: "Done", start: at(3), end: at(48) },
        { name: "FinalSync", state: "Done", start: at(48), end: at(121) },
        {
          name: "PromoteVolumes",
          state: "Waiting",
          start: at(121),
          waitingFor: {
            kind: "PersistentVolumeClaim",
            namespace: "shop",
            name: "data",
            message: "is still attached at node3",
            others: 2,
            since: at(130),
          },
        },
        { name: "StartWorkloads", state: "Pending" },
        { name: "MoveNames", state: "Pending" },
      ],
    },
    history: [
      past("secondary", 21, [3, 40, 62, 18, 31, 9]),
      past("primary", 9_000, [2, 52, 85, 22, 40, 10]),
      past("secondary", 31_000, [3, 35, 44, 15, 28, 8], "Superseded"),
    ],
    workloads: { settled: 1, total: 3 },
    volumes: { settled: 0, total: 2 },
  };
}

function past(
  to: "primary" | "secondary",
  minutes: number,
  seconds: number[],
  outcome: "Completed" | "Superseded" = "Completed",
): PolicyRow["history"][number] {
  const names = ["TakeToken", "StopOther", "FinalSync", "PromoteVolumes", "StartWorkloads", "MoveNames"];
  const total = seconds.reduce((sum, one) => sum + one, 0);
  const steps = names.map((name, at) => ({ name, seconds: seconds[at] ?? 0 }));
  return { to, mode: "safe", start: ago(minutes + total / 60), end: ago(minutes), outcome, seconds: total, steps };
}

export function settledPolicy(): PolicyRow {
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
    workloads: { settled: 4, total: 4 },
    volumes: { settled: 2, total: 2 },
  };
}

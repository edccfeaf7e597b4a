import { FailoverPolicy, type FailoverStatus } from "../../api/failover/failover-policy.ts";
import { apiVersionOf } from "../../api/kind.ts";
import { metaTime } from "../../api/time.ts";

/** For tests. */
export const NOW = Date.parse("2026-11-16T12:00:00Z");

export function ago(seconds: number): string {
  return metaTime(new Date(NOW - seconds * 1000));
}

export function policy(spec: Partial<FailoverPolicy["spec"]>, status?: FailoverStatus): FailoverPolicy {
  return {
    apiVersion: apiVersionOf(FailoverPolicy),
    kind: FailoverPolicy.kind,
    metadata: { name: "web", namespace: "shop", generation: 2 },
    spec: { desiredState: "secondary", ...spec },
    ...(status && { status }),
  };
}

/** Forty seconds into a switch to secondary, held up by a pod. */
export const waiting: FailoverStatus = {
  observedGeneration: 2,
  currentState: "mixed",
  mode: "safe",
  summary: "Waiting for Pod shop/db-0",
  workloadStatus: "1/2 scaled down, 1/1 suspended, 1/1 Flux resources suspended",
  volumeReplicationStatuses: [
    {
      name: "data",
      namespace: "shop",
      state: "Primary",
      error: "VolumeReplication data not in desired state",
      lastSyncTime: ago(70),
      lastUpdateTime: ago(4000),
    },
  ],
  workloadStatuses: [
    { kind: "Deployment", name: "web", namespace: "shop", state: "Scaled Down", lastUpdateTime: ago(35) },
    {
      kind: "StatefulSet",
      name: "db",
      namespace: "shop",
      state: "Scaling Down",
      error: "StatefulSet is scaling down: 1/0/0/1 replicas (total/available/ready/updated)",
      message: "Pod db-0 is terminating",
      lastUpdateTime: ago(40),
    },
  ],
  transition: {
    to: "secondary",
    mode: "safe",
    generation: 2,
    startTime: ago(40),
    lastSyncTime: ago(70),
    steps: [
      { name: "SuspendFlux", state: "Done", startTime: ago(40), completionTime: ago(40) },
      { name: "ScaleDown", state: "Done", startTime: ago(40), completionTime: ago(38) },
      {
        name: "AwaitTermination",
        state: "Waiting",
        startTime: ago(38),
        waitingFor: {
          kind: "Pod",
          namespace: "shop",
          name: "db-0",
          message: "Pod shop/db-0 belongs to StatefulSet db and is terminating",
          others: 2,
          since: ago(38),
        },
      },
      { name: "DemoteVolumes", state: "Pending" },
    ],
  },
  history: [
    {
      to: "primary",
      mode: "unsafe",
      generation: 1,
      startTime: ago(7200),
      completionTime: ago(7000),
      outcome: "Completed",
      seconds: 200,
      lossSeconds: 12,
      steps: [{ name: "TakeToken", seconds: 3 }, { name: "AwaitVolumes", seconds: 190 }, { name: "ResumeFlux" }],
      forced: "Site A burns",
    },
    { to: "secondary", mode: "safe", generation: 1, startTime: ago(9000), outcome: "Superseded" },
  ],
};

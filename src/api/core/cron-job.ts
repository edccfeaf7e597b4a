import { builtinKind, type KubeObject } from "../kind.ts";

export interface CronJob extends KubeObject {
  spec: {
    schedule: string;
    suspend?: boolean;
    startingDeadlineSeconds?: number;
    concurrencyPolicy?: "Allow" | "Forbid" | "Replace";
  };
  status?: {
    active?: { name?: string; namespace?: string; uid?: string }[];
    lastScheduleTime?: string;
  };
}

export const CronJob = builtinKind<CronJob>({
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  scope: "Namespaced",
  shortNames: ["cj"],
});

import { builtinKind, type KubeObject } from "../kind.ts";
import type { LabelSelector } from "./label-selector.ts";

export interface Job extends KubeObject {
  spec: {
    suspend?: boolean;
    parallelism?: number;
    completions?: number;
    selector?: LabelSelector;
  };
  status?: {
    active?: number;
    terminating?: number | null;
    succeeded?: number;
    failed?: number;
    startTime?: string;
    completionTime?: string;
    conditions?: { type: string; status: "True" | "False" | "Unknown"; reason?: string; message?: string }[];
  };
}

export const Job = builtinKind<Job>({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  scope: "Namespaced",
});

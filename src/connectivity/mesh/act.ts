import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { meshChecks } from "../metrics.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import type { MeshStep } from "./steps.ts";

export interface StepError {
  readonly step: MeshStep;
  readonly message: string;
}

/** In parallel as far as the budget allows. A rejected step affects only its mesh. */
export async function act(
  steps: readonly MeshStep[],
  namespace: string,
  { client, budget }: { client: KubeClient; budget: WriteBudget },
  signal: AbortSignal,
): Promise<StepError[]> {
  const checks = client.resource(PodNetworkConnectivityCheck);
  const rejections: StepError[] = [];

  const send = async (step: MeshStep): Promise<void> => {
    if (step.do === "create") {
      const { name, object } = step;
      await checks.create({ metadata: { name, namespace, ...object.metadata }, spec: { ...object.spec } }, { signal });
      return;
    }
    const { name, resourceVersion = "" } = step.existing.metadata;
    await checks.patch({ name, namespace }, step.patch, { resourceVersion, signal });
  };

  const take = async (step: MeshStep): Promise<void> => {
    const leave = await budget.admit("transition", signal);
    try {
      await send(step);
      meshChecks.inc({ action: ACTIONS[step.do] });
    } catch (error) {
      // Somebody else was faster; the cache will show the result.
      if (isKubeError(error, "AlreadyExists", "Conflict", "NotFound")) return;
      if (!isKubeError(error, "Invalid", "Forbidden")) throw error;
      rejections.push({ step, message: error.message });
    } finally {
      leave.done();
    }
  };
  const outcomes = await Promise.allSettled(steps.map(take));
  const failed = outcomes.find(({ status }) => status === "rejected");
  if (failed) throw (failed as PromiseRejectedResult).reason;
  return rejections;
}

const ACTIONS = { create: "created", change: "changed", retire: "retired" } as const;

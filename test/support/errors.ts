import { clientRequests } from "../../src/kube/metrics.ts";

/** How many requests of this process were forbidden so far. */
export async function forbiddenRequests(): Promise<number> {
  const { values } = await clientRequests.get();
  return values.filter(({ labels }) => String(labels.code) === "403").reduce((sum, { value }) => sum + value, 0);
}

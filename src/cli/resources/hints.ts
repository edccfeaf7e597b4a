import type { Kind } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { firstObjects } from "./glance.ts";
import { didYouMean } from "./nearest.ts";
import type { ResourceSelection } from "./selection.ts";

/** `No l3vnis in namespace default; 3 in openperouter-system: -n says which, -A all`. */
export async function emptyListHint(
  client: KubeClient,
  { resource, namespace, selector }: ResourceSelection,
  signal: AbortSignal,
): Promise<string> {
  const what = `No ${resource.plural}${selector === undefined ? "" : ` with ${selector}`}`;
  if (namespace === undefined) return what;
  const elsewhere = countsOf((await firstObjects(client, resource, { selector, signal })).flatMap(({ namespace }) => namespace ?? []));
  const others = [...elsewhere].map(([other, count]) => `${count} in ${other}`);
  return `${what} in namespace ${namespace}${others.length === 0 ? "" : `; there are ${others.join(", ")} (-n chooses, -A shows all)`}`;
}

/** It is in another namespace, or has a similar name. */
export async function notFoundHint(
  client: KubeClient,
  { resource, namespace }: { readonly resource: Kind; readonly namespace: string | undefined },
  name: string,
  signal: AbortSignal,
): Promise<string> {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  const all = await firstObjects(client, resource, { signal });
  const namesakes = all.flatMap((other) => (other.name === name && other.namespace !== undefined ? [other.namespace] : []));
  if (namesakes.length > 0) return `${resource.kind} ${name} not found${where}, but in ${namesakes.join(", ")}: choose with -n`;
  const neighbors = all.filter((other) => other.namespace === namespace).map((other) => other.name);
  return `${resource.kind} ${name} not found${where}${didYouMean(name, neighbors)}`;
}

function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

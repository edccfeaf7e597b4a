import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { missing } from "../resources/hints.ts";
import { pathOf } from "../resources/path.ts";
import type { Selection } from "../resources/selection.ts";
import type { View } from "./view.ts";

export interface ReadOut<Item> {
  readonly items: readonly Item[];
  readonly resourceVersion: string;
  /** A sentence for each name that is not there. */
  readonly missing: readonly string[];
}

interface ListAnswer {
  metadata?: { resourceVersion?: string; continue?: string };
}

const PAGE = "500";

/** Reads what was asked for. */
export async function read<Item>(client: KubeClient, selection: Selection, view: View<Item>, signal: AbortSignal): Promise<ReadOut<Item>> {
  if (selection.names.length > 0) return readNamed(client, selection, view, signal);
  try {
    return await readPages(client, selection, view, signal, PAGE);
  } catch (error) {
    // The moment that the pages are of expired half-way.
    if (!isKubeError(error, "Gone")) throw error;
    return readPages(client, selection, view, signal);
  }
}

async function readNamed<Item>(client: KubeClient, selection: Selection, view: View<Item>, signal: AbortSignal): Promise<ReadOut<Item>> {
  const { resource, namespace, names } = selection;
  const items: Item[] = [];
  const absent: string[] = [];
  for (const name of names) {
    try {
      const answer = await client.request("GET", pathOf(resource, { namespace, name }), { signal, ...acceptOf(view) });
      items.push(...view.items(answer));
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      absent.push(await missing(client, selection, name, signal));
    }
  }
  return { items, resourceVersion: "", missing: absent };
}

async function readPages<Item>(
  client: KubeClient,
  { resource, namespace, selector }: Selection,
  view: View<Item>,
  signal: AbortSignal,
  limit?: string,
): Promise<ReadOut<Item>> {
  const items: Item[] = [];
  let next: string | undefined;
  let resourceVersion = "";
  do {
    const query = { labelSelector: selector, limit, continue: next };
    const answer = await client.request<ListAnswer>("GET", pathOf(resource, { namespace }), { signal, query, ...acceptOf(view) });
    items.push(...view.items(answer));
    resourceVersion = answer.metadata?.resourceVersion ?? "";
    next = answer.metadata?.continue || undefined;
  } while (next !== undefined);
  return { items, resourceVersion, missing: [] };
}

export function acceptOf({ accept }: View<unknown>): { accept?: string } {
  return accept === undefined ? {} : { accept };
}

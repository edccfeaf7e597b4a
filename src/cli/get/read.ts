import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { notFoundHint } from "../resources/hints.ts";
import { pathOf } from "../resources/path.ts";
import type { ResourceSelection } from "../resources/selection.ts";
import type { ObjectView } from "./view.ts";

export interface GetResult<Item> {
  readonly items: readonly Item[];
  readonly resourceVersion: string;
  readonly missing: readonly string[];
}

interface ListAnswer {
  metadata?: { resourceVersion?: string; continue?: string };
}

const PAGE = "500";

export async function read<Item>(
  client: KubeClient,
  selection: ResourceSelection,
  view: ObjectView<Item>,
  signal: AbortSignal,
): Promise<GetResult<Item>> {
  if (selection.names.length > 0) return readNamed(client, selection, view, signal);
  try {
    return await readPages(client, selection, view, signal, PAGE);
  } catch (error) {
    // The continue token expired between two pages.
    if (!isKubeError(error, "Gone")) throw error;
    return readPages(client, selection, view, signal);
  }
}

async function readNamed<Item>(
  client: KubeClient,
  selection: ResourceSelection,
  view: ObjectView<Item>,
  signal: AbortSignal,
): Promise<GetResult<Item>> {
  const { resource, namespace, names } = selection;
  const items: Item[] = [];
  const absent: string[] = [];
  for (const name of names) {
    try {
      const answer = await client.request("GET", pathOf(resource, { namespace, name }), { signal, ...acceptOf(view) });
      items.push(...view.items(answer));
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      absent.push(await notFoundHint(client, selection, name, signal));
    }
  }
  return { items, resourceVersion: "", missing: absent };
}

async function readPages<Item>(
  client: KubeClient,
  { resource, namespace, selector }: ResourceSelection,
  view: ObjectView<Item>,
  signal: AbortSignal,
  limit?: string,
): Promise<GetResult<Item>> {
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

export function acceptOf({ accept }: ObjectView<unknown>): { accept?: string } {
  return accept === undefined ? {} : { accept };
}

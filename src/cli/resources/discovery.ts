import type { Kind, Scope } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { CliError, EXIT } from "../shared/exit.ts";

export interface Resource extends Kind {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** All served versions, the preferred one first. */
  readonly versions: readonly string[];
}

export interface Discovered {
  /** One per group and plural, in the server's preferred version; built-in groups first. */
  readonly resources: readonly Resource[];
  /** Groups whose discovery failed on the server. */
  readonly stale: readonly string[];
}

interface DiscoveryList {
  kind?: string;
  items?: {
    metadata?: { name?: string };
    versions?: { version: string; freshness?: string; resources?: ServedResource[] }[];
  }[];
}

interface ServedResource {
  resource: string;
  scope?: Scope;
  responseKind?: { group?: string; version?: string; kind?: string };
  singularResource?: string;
  shortNames?: string[];
  categories?: string[];
  verbs?: string[];
}

const ACCEPT = ["v2", "v2beta1"].map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`).join(",");

export async function discover(client: KubeClient, signal: AbortSignal): Promise<Discovered> {
  const lists: DiscoveryList[] = [];
  // Sequentially on one connection: a second TLS handshake takes longer.
  for (const path of ["/api", "/apis"])
    lists.push(await client.request<DiscoveryList>("GET", path, { signal, accept: `${ACCEPT},application/json` }));
  if (lists.some(({ kind }) => kind !== "APIGroupDiscoveryList")) {
    throw new CliError(
      `The API server at ${client.access.server} has no aggregated discovery: Kubernetes 1.26 or newer is needed`,
      EXIT.unknown,
    );
  }
  return readDiscovery(lists);
}

export function readDiscovery(lists: readonly DiscoveryList[]): Discovered {
  const resources = new Map<string, Resource>();
  const stale = new Set<string>();
  for (const { metadata, versions } of lists.flatMap(({ items }) => items ?? [])) {
    const group = metadata?.name ?? "";
    for (const { version, freshness, resources: served } of versions ?? []) {
      if (freshness === "Stale") stale.add(group);
      for (const one of served ?? []) {
        const id = `${one.resource}.${group}`;
        const known = resources.get(id);
        resources.set(id, known ? { ...known, versions: [...known.versions, version] } : resourceOf(group, version, one));
      }
    }
  }
  return { resources: [...resources.values()], stale: [...stale] };
}

function resourceOf(group: string, version: string, served: ServedResource): Resource {
  return {
    group,
    version,
    versions: [version],
    kind: served.responseKind?.kind ?? served.resource,
    plural: served.resource,
    scope: served.scope ?? "Namespaced",
    singular: served.singularResource ?? "",
    shortNames: served.shortNames ?? [],
    categories: served.categories ?? [],
    verbs: served.verbs ?? [],
  };
}

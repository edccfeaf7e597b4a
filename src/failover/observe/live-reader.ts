import type { Kind, KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import type { WatchedKind, WatchedKinds } from "./watched-kinds.ts";
import type { ReadResult } from "./observed.ts";
import { isExternal, readError, type ServedKinds } from "./served-kinds.ts";
import { type ResourceReader, servedKind } from "./reader.ts";

type KindRead = ReadResult<ReadonlyMap<string, KubeObject>>;

/** What was read for one policy, for others that are checked with it. */
export type SharedReads = Map<string, Promise<KindRead>>;

/**
 * Asks the API server itself, in as few requests as it takes: what is decided on this cannot be taken back. With `shared`, nothing is read twice for
 * policies that are looked at together.
 */
export async function readLive(
  client: KubeClient,
  served: ServedKinds,
  watched: WatchedKinds,
  signal: AbortSignal,
  shared: SharedReads = new Map(),
): Promise<ResourceReader> {
  await served.ask([...watched.keys()].filter(isExternal), signal);
  const results = new Map<string, KindRead>();
  const scopes = [...watched].flatMap(([kind, namespaces]) => [...namespaces].map(([namespace, names]) => ({ kind, namespace, names })));
  // What csi-addons made of a group its VolumeReplication shows only if it is read after the group.
  for (const round of [scopes.filter(isGroup), scopes.filter((scope) => !isGroup(scope))]) {
    const reading = round.map(async ({ kind, namespace, names }) => {
      const version = servedKind(kind, served);
      const there =
        "found" in version
          ? await once(shared, version.found, namespace, names, () => readKind(client, version.found, namespace, names, signal))
          : version;
      if (isExternal(kind) && "found" in version && "absent" in there) served.doubt(kind);
      results.set(scopeKey(kind, namespace), there);
    });
    await Promise.all(reading);
  }
  const at = (kind: WatchedKind, namespace: string): KindRead =>
    results.get(scopeKey(kind, namespace)) ?? { error: `${kind}s of ${namespace} were not read`, code: "Failed" };
  return {
    object(kind, namespace, name) {
      const found = at(kind, namespace);
      if (!("found" in found)) return found;
      const object = found.found.get(name);
      return object ? { found: object } : { absent: "object" };
    },
    all(kind, namespace) {
      const found = at(kind, namespace);
      return "found" in found ? { found: [...found.found.values()] } : found;
    },
  };
}

/** One object, or all of its kind in the namespace. */
function once(
  shared: SharedReads,
  { kind }: Kind,
  namespace: string,
  names: ReadonlySet<string>,
  read: () => Promise<KindRead>,
): Promise<KindRead> {
  const [only] = names;
  const key = names.size === 1 ? `${kind}/${namespace}/${only}` : `${kind}/${namespace}`;
  const known = shared.get(key);
  if (known) return known;
  const reading = read();
  shared.set(key, reading);
  return reading;
}

function isGroup({ kind }: { readonly kind: WatchedKind }): boolean {
  return kind === "VolumeGroupReplication";
}

function scopeKey(kind: WatchedKind, namespace: string): string {
  return `${kind}/${namespace}`;
}

async function readKind(
  client: KubeClient,
  kind: Kind,
  namespace: string,
  names: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<KindRead> {
  const resource = client.resource(kind);
  const [only] = names;
  try {
    if (names.size === 1 && only !== undefined) return { found: new Map([[only, await resource.get(only, { namespace, signal })]]) };
    const { items } = await resource.list({ namespace, signal });
    return { found: new Map(items.map((object) => [object.metadata.name, object])) };
  } catch (error) {
    if (!isKubeError(error, "NotFound")) return readError(error, signal);
    // Of an object that is missing the server says the name; of a kind, that it knows no such page.
    if (error.details?.name === only && names.size === 1) return { found: new Map() };
    // Every server has the kinds of Kubernetes itself: this was another that answered, and pods that it does not know may still write.
    return isExternal(kind.kind) ? { absent: "kind" } : readError(error, signal);
  }
}

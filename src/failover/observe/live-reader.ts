import type { Kind, KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { lookError } from "./read-error.ts";
import type { NeededKind, Needs } from "./watched-kinds.ts";
import type { Look } from "./observed.ts";
import { isExternal, type ServedKinds } from "./served-kinds.ts";
import { type Sight, servedKind } from "./reader.ts";

type Seen = Look<ReadonlyMap<string, KubeObject>>;

/** Asks the API server itself, in as few requests as it takes: what is decided on this cannot be taken back. */
export async function lookLive(client: KubeClient, served: ServedKinds, needs: Needs, signal: AbortSignal): Promise<Sight> {
  await served.ask([...needs.keys()].filter(isExternal), signal);
  const seen = new Map<string, Seen>();
  const places = [...needs].flatMap(([kind, namespaces]) => [...namespaces].map(([namespace, names]) => ({ kind, namespace, names })));
  await Promise.all(
    places.map(async ({ kind, namespace, names }) => {
      const version = servedKind(kind, served);
      const there = "found" in version ? await look(client, version.found, namespace, names, signal) : version;
      if (isExternal(kind) && "found" in version && "absent" in there) served.doubt(kind);
      seen.set(placeOf(kind, namespace), there);
    }),
  );
  const at = (kind: NeededKind, namespace: string): Seen =>
    seen.get(placeOf(kind, namespace)) ?? { error: `${kind}s of ${namespace} were not looked at`, code: "Failed" };
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

function placeOf(kind: NeededKind, namespace: string): string {
  return `${kind}/${namespace}`;
}

async function look(client: KubeClient, kind: Kind, namespace: string, names: ReadonlySet<string>, signal: AbortSignal): Promise<Seen> {
  const resource = client.resource(kind);
  const [only] = names;
  try {
    if (names.size === 1 && only !== undefined) return { found: new Map([[only, await resource.get(only, { namespace, signal })]]) };
    const { items } = await resource.list({ namespace, signal });
    return { found: new Map(items.map((object) => [object.metadata.name, object])) };
  } catch (error) {
    if (!isKubeError(error, "NotFound")) return lookError(error, signal);
    // Of an object that is missing the server says the name; of a kind, that it knows no such page.
    if (error.details?.name === only && names.size === 1) return { found: new Map() };
    // Every server has the kinds of Kubernetes itself: this was another that answered, and pods that it does not know may still write.
    return isExternal(kind.kind) ? { absent: "kind" } : lookError(error, signal);
  }
}

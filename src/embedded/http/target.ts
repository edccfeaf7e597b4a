import { apiVersionOf } from "../../api/kind.ts";
import { ApiError } from "../store/api-error.ts";
import type { ServedKind, ServedVersion, StoredObject } from "../kinds/served-kind.ts";
import type { StoreEntry } from "../store/entry.ts";

export interface RequestTarget {
  readonly kind: ServedKind;
  readonly version: ServedVersion;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** For a wrong path in a served group. */
export function notFoundPath(): ApiError {
  return new ApiError(404, "NotFound", "the server could not find the requested resource", {});
}

/** Maps paths to kinds, for every served version. */
export class Paths {
  readonly #groups = new Map<string, Map<string, RequestTarget>>();

  constructor(kinds: readonly ServedKind[]) {
    for (const kind of kinds) {
      for (const version of kind.versions) {
        const apiVersion = apiVersionOf({ ...kind, version: version.name });
        const resources = this.#groups.get(apiVersion) ?? new Map<string, RequestTarget>();
        this.#groups.set(apiVersion, resources.set(kind.plural, { kind, version }));
      }
    }
  }

  /** Undefined if the group is not served; throws if the group has no such path. */
  find(segments: readonly string[]): RequestTarget | undefined {
    const [root, first = "", second = ""] = segments;
    const apiVersion = root === "api" ? first : root === "apis" ? `${first}/${second}` : "";
    const resources = this.#groups.get(apiVersion);
    const rest = segments.slice(root === "api" ? 2 : 3);
    return resources && rest.length > 0 ? locate(resources, rest) : undefined;
  }
}

/** `/namespaces/NAME/status` is about the namespace; any other third segment is a resource in it. */
const OF_THE_NAMESPACE = new Set(["status", "finalize"]);

function locate(resources: ReadonlyMap<string, RequestTarget>, rest: readonly string[]): RequestTarget {
  const [first, namespace, second = ""] = rest;
  const within = first === "namespaces" && namespace !== undefined && rest.length > 2 && !OF_THE_NAMESPACE.has(second);
  const [plural = "", name, subresource, ...beyond] = within ? rest.slice(2) : rest;
  const target = resources.get(plural);
  if (!target || beyond.length > 0) throw notFoundPath();
  const { scope } = target.kind;
  if (within !== (scope === "Namespaced") && (within || name !== undefined)) throw notFoundPath();
  return {
    ...target,
    ...(within && { namespace }),
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
}

export function jsonFor(entry: StoreEntry, { kind, version }: RequestTarget): Buffer {
  return version === kind.versions[0] ? entry.json : Buffer.from(JSON.stringify(inVersion(entry.object, kind, version.name)));
}

export function inVersion(object: StoredObject, kind: ServedKind, version: string): StoredObject {
  return { ...object, apiVersion: apiVersionOf({ ...kind, version }) };
}

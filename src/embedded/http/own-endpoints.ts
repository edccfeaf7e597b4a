import type { ServerResponse } from "node:http";
import { badRequest, notFound, resourceName } from "../store/api-error.ts";
import { overrides, resetOverrides } from "../store/apply-manifest.ts";
import type { Problem } from "../directory/problems.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import { without } from "../kinds/json.ts";
import type { StoreKey, Store } from "../store/store.ts";
import { send, sendObject } from "./response.ts";
import type { Extra } from "./handler.ts";
import { notFoundPath } from "./target.ts";

/**
 * What only this server has: where objects stand in files.
 * `GET /plumbline/v1/problems`, `GET /plumbline/v1/declaration?resource=&namespace=&name=` and `DELETE /plumbline/v1/overrides?…`.
 */
export function plumblinePaths(store: Store, problems: () => readonly Problem[]): Extra {
  const subject = (query: URLSearchParams): { kind: ServedKind; ref: StoreKey } => {
    const resource = query.get("resource") ?? "";
    const kind = store.kinds.find((served) => resourceName(served) === resource);
    if (!kind) throw badRequest(`resource=${resource} is not served here; use plural.group`);
    const namespace = query.get("namespace");
    return { kind, ref: { name: query.get("name") ?? "", ...(namespace && kind.scope === "Namespaced" && { namespace }) } };
  };

  const declaration = (query: URLSearchParams, response: ServerResponse): void => {
    const { kind, ref } = subject(query);
    store.get(kind, ref);
    const declared = store.declarationOf(kind, ref);
    if (!declared) throw notFound({ ...kind, plural: "declarations", group: "" }, ref.name);
    sendObject(response, 200, { ...declared, overrides: overrides(store, kind, ref) });
  };

  const reset = (query: URLSearchParams, response: ServerResponse): void => {
    const { kind, ref } = subject(query);
    send(response, 200, resetOverrides(store, kind, ref).json);
  };

  return ({ method, segments, query }, response) => {
    const [root, version, what] = segments;
    if (root !== "plumbline") return false;
    const endpoint = `${method} ${version}/${what}`;
    if (endpoint === "GET v1/problems") sendObject(response, 200, { items: problems().map((problem) => without(problem, "object")) });
    else if (endpoint === "GET v1/declaration") declaration(query, response);
    else if (endpoint === "DELETE v1/overrides") reset(query, response);
    else throw notFoundPath();
    return true;
  };
}

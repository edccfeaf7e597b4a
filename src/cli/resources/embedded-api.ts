import { join, relative } from "node:path";
import type { JsonObject } from "../../api/admission/value.ts";
import type { KubeObject, ObjectMeta } from "../../api/kind.ts";
import type { Override, ManifestSource } from "../../embedded/store/declaration.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import type { Resource } from "./discovery.ts";

/** What only the embedded API knows: the file of an object, and fields that differ from it. */
export interface DeclaredApi {
  readonly source: ManifestSource;
  readonly manifest: JsonObject;
  readonly overrides: readonly Override[];
}

export async function isEmbedded(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  if (client.access.server.startsWith("unix:")) return true;
  const { gitVersion } = await client.request<{ gitVersion?: string }>("GET", "/version", { signal });
  return gitVersion?.endsWith("+plumbline") ?? false;
}

/** Undefined for an object without a file. */
export async function declarationOf(
  client: KubeClient,
  resource: Resource,
  metadata: ObjectMeta,
  signal: AbortSignal,
): Promise<DeclaredApi | undefined> {
  try {
    const declared = await client.request<DeclaredApi>("GET", "/plumbline/v1/declaration", { signal, query: queryOf(resource, metadata) });
    return { ...declared, source: { ...declared.source, path: fromHere(client, declared.source.path) } };
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** The server reports paths relative to its directory, which follows from its socket. */
function fromHere({ access: { server } }: KubeClient, path: string): string {
  const socket = /^unix:(.*)\/\.plumbline\/api\.sock$/.exec(server);
  return socket ? relative(process.cwd(), join(socket[1] ?? "", path)) : path;
}

export function resetOverrides(client: KubeClient, resource: Resource, metadata: ObjectMeta, signal: AbortSignal): Promise<KubeObject> {
  return client.request<KubeObject>("DELETE", "/plumbline/v1/overrides", { signal, query: queryOf(resource, metadata) });
}

function queryOf({ plural, group }: Resource, { name, namespace }: ObjectMeta): Record<string, string | undefined> {
  return { resource: group === "" ? plural : `${plural}.${group}`, namespace, name };
}

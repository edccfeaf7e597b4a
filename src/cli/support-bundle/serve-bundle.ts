import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import { resourceName } from "../../embedded/store/api-error.ts";
import { discovery } from "../../embedded/http/discovery.ts";
import { apiHandler } from "../../embedded/http/handler.ts";
import { FileWriteBack } from "../../embedded/directory/write-back.ts";
import { CORE_KINDS } from "../../embedded/kinds/core-kinds.ts";
import { customKind, type ServedKind, type StoredObject } from "../../embedded/kinds/served-kind.ts";
import { Store } from "../../embedded/store/store.ts";
import type { ClusterAccess } from "../../kube/client/access.ts";
import { createLog } from "../../kube/log.ts";
import { type BundledKind, readBundle } from "./read-bundle.ts";

// A plain import builds an ES namespace that loads undici.
const { createServer } = process.getBuiltinModule("node:http");

export interface BundleAccess extends ClusterAccess {
  readonly takenAt: string;
}

/** Serves the objects of a bundle to this process, read-only, like the API server that it was taken from. */
export async function serveBundle(path: string): Promise<BundleAccess> {
  const { manifest, kinds: bundled } = await readBundle(path);
  const kinds = servedKinds(bundled);
  const revision = Math.max(1, ...bundled.flatMap(({ items }) => items.map(revisionOf)));
  const objects = bundled.flatMap(({ group, plural, items }) =>
    items.map((item) => ({
      resource: group === "" ? plural : `${plural}.${group}`,
      object: { ...item, metadata: { ...item.metadata, resourceVersion: String(revisionOf(item)) } } as StoredObject,
    })),
  );
  const store = new Store(kinds, { restored: { revision, objects } });
  const api = apiHandler({
    store,
    keeping: new FileWriteBack(store, undefined),
    log: createLog({ level: "silent" }),
    extras: [discovery(store.kinds)],
  });

  const directory = await mkdtemp(join(tmpdir(), "plumbline-bundle-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const socket = join(directory, "api.sock");
  const server = createServer((message, response) => {
    if (message.method === "GET" || message.method === "HEAD") api(message, response);
    else response.writeHead(405).end();
  });
  // The server must not keep the process running.
  server.on("connection", (connection: Socket) => connection.unref());
  server.listen(socket).unref();
  await once(server, "listening");
  return { server: `unix:${socket}`, describe: `the bundle ${path}`, identity: () => Promise.resolve({}), takenAt: manifest.time };
}

/** The built-in kinds, and those of the bundle. */
function servedKinds(bundled: readonly BundledKind[]): ServedKind[] {
  const known = [...CORE_KINDS, ...CUSTOM_KINDS.map(customKind)];
  const names = new Set(known.map(resourceName));
  const others = bundled.filter((kind) => !names.has(resourceName(kind)));
  return [...known, ...others.flatMap(foreignKind)];
}

function foreignKind({ group, plural, items: [first] }: BundledKind): ServedKind[] {
  if (!first) return [];
  const { apiVersion, kind } = first;
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  return [
    {
      group,
      version,
      kind,
      plural,
      scope: first.metadata.namespace === undefined ? "Cluster" : "Namespaced",
      singular: kind.toLowerCase(),
      listKind: `${kind}List`,
      categories: [],
      versions: [{ name: version }],
      doc: "",
      rules: {
        nameComplaints: () => [],
        hasStatus: false,
        statusCarriesMetadata: false,
        unconditionalUpdate: false,
        createOnUpdate: false,
        returnsDeleted: false,
        orphansDependents: false,
      },
    },
  ];
}

function revisionOf({ metadata: { resourceVersion } }: BundledKind["items"][number]): number {
  const revision = Number(resourceVersion);
  return Number.isSafeInteger(revision) && revision > 0 ? revision : 1;
}

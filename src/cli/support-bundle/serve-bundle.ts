import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
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
import { isObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { BUNDLE_VERSION, type BundleManifest, MANIFEST } from "./manifest.ts";
import { unpackTar } from "./tar.ts";

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

interface BundledKind {
  readonly group: string;
  readonly plural: string;
  readonly items: readonly (KubeObject & { readonly apiVersion: string; readonly kind: string })[];
}

interface Bundle {
  readonly manifest: BundleManifest;
  readonly kinds: readonly BundledKind[];
}

/** The limit of the unpacked size. */
const LARGEST = 2 ** 31;

async function readBundle(path: string): Promise<Bundle> {
  const packed = await readFile(path).catch((cause: unknown) => {
    throw unreadable(path, cause instanceof Error ? cause.message : String(cause), cause);
  });
  try {
    const files = new Map(
      unpackTar(await promisify(gunzip)(packed, { maxOutputLength: LARGEST })).map(({ path, content }) => [withoutRoot(path), content]),
    );
    const manifest = manifestIn(files.get(MANIFEST));
    const kinds = [...files].flatMap(([name, content]) => {
      const [, plural, group = ""] = /^objects\/([a-z0-9]+)(?:\.([a-z0-9.-]+))?\.json$/.exec(name) ?? [];
      return plural === undefined ? [] : [{ group, plural, items: itemsIn(content) }];
    });
    return { manifest, kinds };
  } catch (cause) {
    throw unreadable(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function manifestIn(content: Buffer | undefined): BundleManifest {
  if (!content) throw new RangeError(`it has no ${MANIFEST}`);
  const manifest = JSON.parse(content.toString()) as BundleManifest;
  const version: string = manifest.apiVersion;
  if (version !== BUNDLE_VERSION) throw new RangeError(`it is of version ${version}, and this plumbline reads ${BUNDLE_VERSION}`);
  return manifest;
}

function itemsIn(content: Buffer): BundledKind["items"] {
  const { items } = JSON.parse(content.toString()) as { items?: unknown };
  const objects: unknown[] = Array.isArray(items) ? items : [];
  return objects.filter((item) => isObject(item) && isObject(item["metadata"])) as BundledKind["items"];
}

function withoutRoot(path: string): string {
  return path.slice(path.indexOf("/") + 1);
}

function unreadable(path: string, why: string, cause: unknown): CliError {
  return new CliError(`${path} is not a readable bundle: ${why}`, EXIT.unknown, { cause });
}

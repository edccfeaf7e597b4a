import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { isObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { BUNDLE_VERSION, type BundleManifest, MANIFEST } from "./manifest.ts";
import { unpackTar } from "./tar.ts";

export interface BundledKind {
  readonly group: string;
  readonly plural: string;
  readonly items: readonly (KubeObject & { readonly apiVersion: string; readonly kind: string })[];
}

export interface Bundle {
  readonly manifest: BundleManifest;
  readonly kinds: readonly BundledKind[];
}

/** The limit of the unpacked size. */
const LARGEST = 2 ** 31;

/** Reads a bundle into memory. */
export async function readBundle(path: string): Promise<Bundle> {
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

import { hash } from "node:crypto";
import { chmodSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../../api/kind.ts";
import { ApiError, internalError } from "../store/api-error.ts";
import type { AppliedFiles } from "./write-back.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import type { ManifestSource } from "../store/declaration.ts";
import { APPLIED } from "./sync.ts";
import type { ManifestDirectory } from "./directory.ts";
import { manifestText } from "../manifests/yaml-value.ts";
import { systemReason } from "./file-stat.ts";
import type { ManifestTarget } from "./target.ts";

/** The limit of file systems, minus room for the suffix of the temporary file. */
const MAX_NAME_BYTES = 230;

export class AppliedManifests implements AppliedFiles {
  readonly #directory: ManifestDirectory;
  readonly #sink: ManifestTarget;

  constructor(directory: ManifestDirectory, sink: ManifestTarget) {
    this.#directory = directory;
    this.#sink = sink;
  }

  write({ plural }: ServedKind, manifest: KubeObject): ManifestSource {
    const identity = this.#sink.identify(manifest);
    if (!("key" in identity)) throw internalError(identity.message);
    const current = this.#directory.sourceOf(identity.key);
    const path = current?.applied ? current.path : `${APPLIED}/${nameFor(plural, manifest)}.yaml`;
    this.#checkAlone(path, identity.key);
    attempt(`${path} cannot be written`, () => this.#directory.write(path, manifestText(manifest)));
    return { path, line: 1, applied: true };
  }

  remove({ path }: ManifestSource): void {
    this.#checkAlone(path, this.#directory.keysIn(path)[0]);
    attempt(`${path} cannot be removed`, () => this.#directory.erase(path));
  }

  /** Throws if a person added other objects to the file: it is not overwritten. */
  #checkAlone(path: string, key: string | undefined): void {
    if (this.#directory.keysIn(path).every((other) => other === key)) return;
    throw new ApiError(403, "Forbidden", `${path} also contains other objects; change it there`);
  }
}

/** Earlier versions wrote files that everyone could read. Files of other users stay as they are. */
export function protectApplied(root: string): void {
  const directory = join(root, APPLIED);
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (!found?.isDirectory() || found.uid !== process.getuid?.()) return;
  chmodSync(directory, 0o700);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isFile() && lstatSync(path).uid === found.uid) chmodSync(path, 0o600);
  }
}

function nameFor(plural: string, { metadata: { name, namespace } }: KubeObject): string {
  const full = [plural, namespace, name].filter(Boolean).join(".");
  if (Buffer.byteLength(full) <= MAX_NAME_BYTES) return full;
  return `${full.slice(0, MAX_NAME_BYTES - 9)}-${hash("sha1", full).slice(0, 8)}`;
}

function attempt(what: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw internalError(`${what}: ${systemReason(error)}`, error);
  }
}

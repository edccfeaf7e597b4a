import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import { FILE_BYTES } from "../../embedded/manifests/limits.ts";
import { readManifests } from "../../embedded/manifests/manifests.ts";
import { positionOf } from "../../embedded/manifests/position.ts";
import { CliError, EXIT } from "../shared/exit.ts";

export interface Input {
  readonly object: KubeObject;
  readonly file: string;
  /** The line of the field, or of its nearest existing parent. */
  lineOf(field?: string): number;
}

interface Unreadable {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export interface Inputs {
  readonly inputs: readonly Input[];
  readonly unreadable: readonly Unreadable[];
}

/** Reads files, directories recursively, and standard input for `-`. */
export async function readInputs(paths: readonly string[]): Promise<Inputs> {
  const inputs: Input[] = [];
  const unreadable: Unreadable[] = [];
  for (const path of paths) {
    for (const { file, content } of await filesOf(path)) {
      const read = contentInputs(file, content);
      inputs.push(...read.inputs);
      unreadable.push(...read.unreadable);
    }
  }
  if (inputs.length === 0 && unreadable.length === 0) {
    throw new CliError(`No manifests found in ${paths.map(displayName).join(", ")}`, EXIT.misuse);
  }
  return { inputs, unreadable };
}

export function contentInputs(file: string, content: Buffer): Inputs {
  if (content.length > FILE_BYTES) {
    return {
      inputs: [],
      unreadable: [{ file, line: 1, message: `the file has ${content.length} bytes; the limit is ${FILE_BYTES}` }],
    };
  }
  const passages = readManifests(content, { json: file.endsWith(".json") });
  return {
    inputs: passages.flatMap(({ line, manifests }) =>
      manifests.map(({ object, positions }) => ({
        object,
        file,
        lineOf: (field = "") => line + positionOf(object, positions, field).line + 1,
      })),
    ),
    unreadable: passages.flatMap(({ line, flaws }) =>
      flaws.map((parseError) => ({ file, line: line + parseError.line + 1, message: parseError.message })),
    ),
  };
}

interface FileContent {
  file: string;
  content: Buffer;
}

async function filesOf(path: string): Promise<FileContent[]> {
  try {
    if (path === "-") return [{ file: displayName(path), content: await standardInput() }];
    if (!(await stat(path)).isDirectory()) return [{ file: path, content: await readFile(path) }];
    const names = (await readdir(path, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && isManifest(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => !file.slice(path.length).includes("/."))
      .sort();
    return await Promise.all(names.map(async (file) => ({ file, content: await readFile(file) })));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new CliError(`${path} does not exist: check -f`, EXIT.misuse, { cause: error });
    throw new CliError(`${path} cannot be read (${code ?? String(error)})`, EXIT.unknown, { cause: error });
  }
}

async function standardInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function isManifest(name: string): boolean {
  return /^[^.~#].*\.(yaml|yml|json)$/.test(name);
}

function displayName(path: string): string {
  return path === "-" ? "standard input" : path;
}

/** `L3VNI openperouter-system/red` */
export function titleOf({ kind = "", metadata }: KubeObject): string {
  return `${kind} ${keyOf({ metadata })}`;
}

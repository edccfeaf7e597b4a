import { createHash } from "node:crypto";
import { mkdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { isThere, replaceFile } from "./atomic-file.ts";
import type { LastGood } from "../form.ts";

/** What the router of a node must know after a restart, and cannot find out any other way. */
export interface RouterState {
  /** By owner, `L2VNI/red`. */
  lastGood: Map<string, LastGood>;
  /** The objects of the namespace that were there in the last pass, by uid. */
  seen: Map<string, Seen>;
  /** The addresses of the interfaces that Underlays name, as they were when they last had any: the kernel forgets them when a namespace goes. */
  nics?: ReadonlyMap<string, readonly string[]>;
  /** The node index that the addresses here are made from. */
  index?: number | undefined;
}

export interface Seen {
  readonly selects: boolean;
  /** When it began to select this node, where that was seen to happen. */
  readonly since?: string;
}

/** The directory in which the router keeps what it knows cannot be used. */
export class StateError extends Error {
  override readonly name = "StateError";
  readonly code: "Unreadable" | "Unwritable";
  readonly path: string;

  constructor(code: StateError["code"], path: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message.replace(/, \w+ '.*'$/, "") : String(cause);
    super(`${path} cannot be ${code === "Unreadable" ? "read" : "written"}: ${why}`, { cause });
    this.code = code;
    this.path = path;
  }
}

const VERSION = 1;

/** `<directory>/router.json`. It holds passwords, so it is for its owner's eyes only. */
export class StateFile {
  readonly path: string;
  readonly #directory: string;
  #written: string | undefined;

  constructor(directory: string) {
    this.#directory = directory;
    this.path = join(directory, "router.json");
  }

  /** What was saved last; nothing on a new node. A damaged file is set aside unless it is only looked at, and `setAside` says where and why. */
  async load({ setAside = true } = {}): Promise<{ state: RouterState; setAside?: string }> {
    let text: string;
    try {
      text = await readFile(this.path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { state: newState() };
      throw new StateError("Unreadable", this.path, error);
    }
    try {
      const state = parse(text);
      this.#written = text;
      return { state };
    } catch (error) {
      if (!setAside) return { state: newState() };
      const aside = `${this.path}.damaged`;
      await rename(this.path, aside).catch((cause: unknown) => {
        throw new StateError("Unwritable", aside, cause);
      });
      return { state: newState(), setAside: `${this.path} is damaged (${(error as Error).message}) and was set aside as ${aside}` };
    }
  }

  /** Writes only what differs from what the file holds, and a file that is gone. */
  async save(state: RouterState): Promise<void> {
    const text = print(state);
    if (text === this.#written && (await isThere(this.path))) return;
    try {
      await mkdir(this.#directory, { recursive: true });
      await replaceFile(this.path, text);
    } catch (error) {
      throw new StateError("Unwritable", this.path, error);
    }
    this.#written = text;
  }
}

function newState(): RouterState {
  return { lastGood: new Map(), seen: new Map() };
}

interface Stored {
  lastGood: [string, LastGood][];
  seen: [string, Seen][];
  nics?: [string, readonly string[]][];
  index?: number;
}

function print({ lastGood, seen, nics, index }: RouterState): string {
  const stored: Stored = {
    lastGood: sorted(lastGood),
    seen: sorted(seen),
    ...(nics && { nics: sorted(nics) }),
    ...(index !== undefined && { index }),
  };
  const text = JSON.stringify(stored);
  return `{"version":${VERSION},"sha256":"${sha256(text)}","router":${text}}\n`;
}

function parse(text: string): RouterState {
  const { version, sha256: sum, router } = JSON.parse(text) as { version?: unknown; sha256?: unknown; router?: Stored };
  if (version !== VERSION) throw new Error(`its version is ${String(version)}, not ${VERSION}`);
  if (router === undefined || sum !== sha256(JSON.stringify(router))) throw new Error("its checksum does not fit");
  const { lastGood, seen, nics, index } = router;
  return {
    lastGood: new Map(lastGood),
    seen: new Map(seen),
    ...(nics && { nics: new Map(nics) }),
    ...(index !== undefined && { index }),
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

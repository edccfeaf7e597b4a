import { createHash } from "node:crypto";
import { mkdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { isThere, replaceFile } from "./atomic-file.ts";

/** The directory in which an agent keeps what it knows cannot be used. */
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

/** `<directory>/<name>.json`: what must be known after a restart. It may hold passwords, so it is for its owner's eyes only; a damaged one is not believed. */
export class CheckedFile<T extends object> {
  readonly path: string;
  readonly #directory: string;
  readonly #name: string;
  #written: string | undefined;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
    this.path = join(directory, `${name}.json`);
  }

  /** What was saved last; nothing on a new node. A damaged file is set aside unless it is only looked at, and `setAside` says where and why. */
  async load({ setAside = true } = {}): Promise<{ content?: T; setAside?: string }> {
    let text: string;
    try {
      text = await readFile(this.path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw new StateError("Unreadable", this.path, error);
    }
    try {
      const content = this.#parse(text);
      this.#written = text;
      return { content };
    } catch (error) {
      if (!setAside) return {};
      const aside = `${this.path}.damaged`;
      await rename(this.path, aside).catch((cause: unknown) => {
        throw new StateError("Unwritable", aside, cause);
      });
      return { setAside: `${this.path} is damaged (${(error as Error).message}) and was set aside as ${aside}` };
    }
  }

  /** Writes only what differs from what the file holds, and a file that is gone. */
  async save(content: T): Promise<void> {
    const json = JSON.stringify(content);
    const text = `{"version":${VERSION},"sha256":"${sha256(json)}",${JSON.stringify(this.#name)}:${json}}\n`;
    if (text === this.#written && (await isThere(this.path))) return;
    try {
      await mkdir(this.#directory, { recursive: true });
      await replaceFile(this.path, text);
    } catch (error) {
      throw new StateError("Unwritable", this.path, error);
    }
    this.#written = text;
  }

  #parse(text: string): T {
    const { version, sha256: sum, [this.#name]: content } = JSON.parse(text) as Record<string, unknown>;
    if (version !== VERSION) throw new Error(`its version is ${String(version)}, not ${VERSION}`);
    if (content === undefined || sum !== sha256(JSON.stringify(content))) throw new Error("its checksum does not fit");
    return content as T;
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

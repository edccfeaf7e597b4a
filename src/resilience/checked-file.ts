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

interface Options<T> {
  /** How each version of the file is read, the oldest first. The last one is what is written: to change the format, append to them. */
  readonly versions: readonly ((content: unknown) => T)[];
  /** Whether there is a second file, `<name>.json.previous`, for when the first is damaged. */
  readonly keepsPrevious: boolean;
}

/** Files that could not be read, as a sentence. */
export interface Damage {
  readonly message: string;
  /** Whether the content comes from the previous file. */
  readonly recovered: boolean;
}

/** `<directory>/<name>.json`: what must be known after a restart. It may hold passwords, so only its owner can read it; a damaged one is not believed. */
export class CheckedFile<T extends object> {
  readonly path: string;
  readonly #previousPath: string;
  readonly #directory: string;
  readonly #name: string;
  readonly #options: Options<T>;
  /** What the two files hold, as far as that is known. */
  #written: string | undefined;
  #previous: string | undefined;

  constructor(directory: string, name: string, options: Options<T>) {
    this.#directory = directory;
    this.#name = name;
    this.#options = options;
    this.path = join(directory, `${name}.json`);
    this.#previousPath = `${this.path}.previous`;
  }

  /** What was saved last; nothing on a new node. A damaged file is set aside unless it is only looked at. */
  async load({ setAside = true } = {}): Promise<{ content?: T; damage?: Damage }> {
    const first = await this.#read(this.path, setAside);
    if (first.content) {
      this.#written = first.text;
      return { content: first.content };
    }
    const second = this.#options.keepsPrevious ? await this.#read(this.#previousPath, setAside) : {};
    if (second.content) this.#previous = second.text;
    const problems = [first.problem, second.problem].filter((problem) => problem !== undefined);
    const used = second.content ? [`${this.#previousPath} is used instead`] : [];
    return {
      ...(second.content && { content: second.content }),
      ...(problems.length > 0 && { damage: { message: [...problems, ...used].join("; "), recovered: second.content !== undefined } }),
    };
  }

  /**
   * Writes only what differs from what the file holds, and a file that is gone. The previous file has what was saved before, and the same as the
   * first once the same is saved again.
   */
  async save(content: T): Promise<void> {
    const json = JSON.stringify(content);
    const { versions } = this.#options;
    const text = `{"version":${versions.length},"sha256":"${sha256(json)}",${JSON.stringify(this.#name)}:${json}}\n`;
    if (this.#written !== undefined) await this.#keepPrevious(this.#written);
    if (text === this.#written && (await isThere(this.path))) return;
    await this.#write(this.path, text);
    this.#written = text;
  }

  async #keepPrevious(text: string): Promise<void> {
    if (!this.#options.keepsPrevious || (text === this.#previous && (await isThere(this.#previousPath)))) return;
    await this.#write(this.#previousPath, text);
    this.#previous = text;
  }

  async #write(path: string, text: string): Promise<void> {
    try {
      await mkdir(this.#directory, { recursive: true });
      await replaceFile(path, text);
    } catch (error) {
      throw new StateError("Unwritable", path, error);
    }
  }

  async #read(path: string, setAside: boolean): Promise<{ content?: T; text?: string; problem?: string }> {
    let text: string;
    try {
      text = await readFile(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw new StateError("Unreadable", path, error);
    }
    try {
      return { content: this.#parse(text), text };
    } catch (error) {
      if (!setAside) return {};
      const aside = `${path}.damaged`;
      await rename(path, aside).catch((cause: unknown) => {
        throw new StateError("Unwritable", aside, cause);
      });
      return { problem: `${path} is damaged (${(error as Error).message}) and was set aside as ${aside}` };
    }
  }

  #parse(text: string): T {
    const { version, sha256: sum, [this.#name]: content } = JSON.parse(text) as Record<string, unknown>;
    const { versions } = this.#options;
    const read = versions[Number(version) - 1];
    if (!read) throw new Error(`its version is ${String(version)}, and only versions up to ${versions.length} are known`);
    if (content === undefined || sum !== sha256(JSON.stringify(content))) throw new Error("its checksum does not fit");
    return read(content);
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { isThere, replaceFile } from "./atomic-file.ts";

export class StateError extends Error {
  override readonly name = "StateError";
  readonly code: "Unreadable" | "Unwritable";
  readonly path: string;

  constructor(code: StateError["code"], path: string, cause: unknown) {
    super(`${path} cannot be ${code === "Unreadable" ? "read" : "written"}: ${reasonOf(cause)}`, { cause });
    this.code = code;
    this.path = path;
  }
}

/** Without the system call and the path that Node adds. */
function reasonOf(cause: unknown): string {
  const { code, errno, message } = cause as NodeJS.ErrnoException;
  return errno === undefined ? message : `${code}: ${getSystemErrorMessage(errno)}`;
}

interface Options<T> {
  /**
   * Parsers of each version of the file, the oldest first; the last version is written. To change the format, append one. The last one also parses newer
   * versions after a downgrade: a field whose meaning changes gets another name, and any field may be missing.
   */
  readonly versions: readonly ((content: unknown) => T)[];
  /** Whether there is a second file, `<name>.json.previous`, for when the first is damaged. */
  readonly keepsPrevious: boolean;
}

/** Files that are damaged or of a newer version. */
export interface FileDamage {
  readonly message: string;
  /** Whether there is content all the same. */
  readonly recovered: boolean;
}

/** `<directory>/<name>.json`: what must be known after a restart. It may hold passwords, so only its owner can read it; a damaged one is ignored. */
export class StateFile<T extends object> {
  readonly path: string;
  readonly #previousPath: string;
  readonly #directory: string;
  readonly #name: string;
  readonly #options: Options<T>;
  /** The content of the two files, if known. */
  #written: string | undefined;
  #previous: string | undefined;

  constructor(directory: string, name: string, options: Options<T>) {
    this.#directory = directory;
    this.#name = name;
    this.#options = options;
    this.path = join(directory, `${name}.json`);
    this.#previousPath = `${this.path}.previous`;
  }

  /** The content saved last; none on a new node. With `setAside` a file that is damaged or of a newer version is moved away. */
  async load({ setAside = true } = {}): Promise<{ content?: T; damage?: FileDamage }> {
    const first = await this.#read(this.path, setAside);
    if (first.content && first.text !== undefined) {
      this.#written = first.text;
      return { content: first.content };
    }
    const second: Read<T> = this.#options.keepsPrevious ? await this.#read(this.#previousPath, setAside) : {};
    if (second.content && second.text !== undefined) this.#previous = second.text;
    const content = first.content ?? second.content ?? (await this.#setAsideBefore());
    const problems = [first.problem, second.problem].filter((problem) => problem !== undefined);
    const used = first.content || !second.content ? [] : [`${this.#previousPath} is used instead`];
    return {
      ...(content && { content }),
      ...(problems.length > 0 && { damage: { message: [...problems, ...used].join("; "), recovered: content !== undefined } }),
    };
  }

  /**
   * Writes if the content has changed or the file is gone. The previous file has what was saved before, and the same content once that is saved again.
   */
  async save(content: T): Promise<void> {
    const json = JSON.stringify(content);
    const { versions } = this.#options;
    const text = `{"version":${versions.length},"sha256":"${checksum(versions.length, json)}",${JSON.stringify(this.#name)}:${json}}\n`;
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

  /** The content that an agent of another version set aside, if the usual file was never written since. */
  async #setAsideBefore(): Promise<T | undefined> {
    const prefix = `${basename(this.path)}.version-`;
    const names = (await readdir(this.#directory).catch(() => [])).filter((name) => name.startsWith(prefix));
    for (const name of names.sort((a, b) => Number(b.slice(prefix.length)) - Number(a.slice(prefix.length)))) {
      const { content } = await this.#read(join(this.#directory, name), false);
      if (content) return content;
    }
    return undefined;
  }

  async #read(path: string, setAside: boolean): Promise<Read<T>> {
    let text: string;
    try {
      text = await readFile(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw new StateError("Unreadable", path, error);
    }
    try {
      const { content, version } = this.#parse(text);
      const known = this.#options.versions.length;
      if (version <= known) return { content, text };
      if (!setAside) return { content };
      const aside = await move(path, `${path}.version-${version}`);
      return {
        content,
        problem: `${path} has version ${version}, newer than ${known}: kept as ${aside}, its known fields are used`,
      };
    } catch (error) {
      if (error instanceof StateError) throw error;
      if (!setAside) return {};
      const aside = await move(path, `${path}.damaged`);
      return { problem: `${path} is damaged (${(error as Error).message}) and was moved to ${aside}` };
    }
  }

  #parse(text: string): { content: T; version: number } {
    const { version, sha256: sum, [this.#name]: content } = JSON.parse(text) as Record<string, unknown>;
    const { versions } = this.#options;
    const read = typeof version === "number" && version % 1 === 0 ? versions[Math.min(version, versions.length) - 1] : undefined;
    if (!read) throw new Error(`unknown version ${String(version)}`);
    if (content === undefined || sum !== checksum(version as number, JSON.stringify(content))) throw new Error("checksum mismatch");
    return { content: read(content), version: version as number };
  }
}

interface Read<T> {
  readonly content?: T;
  readonly text?: string;
  readonly problem?: string;
}

async function move(path: string, aside: string): Promise<string> {
  try {
    await rename(path, aside);
    return aside;
  } catch (cause) {
    throw new StateError("Unwritable", aside, cause);
  }
}

/** The first version is not part of its own checksum. */
function checksum(version: number, json: string): string {
  return createHash("sha256")
    .update(version === 1 ? json : `${version} ${json}`)
    .digest("hex");
}

import { readFile } from "node:fs/promises";
import { KubeError } from "./error.ts";

const KEEP_MS = 60_000;

/** A file that someone else rotates: read again at most once a minute, or when `afresh` is asked for. */
export class FreshFile {
  readonly #path: string;
  readonly #purpose: string;
  #text: string | undefined;
  #readAt = 0;

  constructor(path: string, purpose: string) {
    this.#path = path;
    this.#purpose = purpose;
  }

  async read(afresh = false): Promise<string> {
    const now = performance.now();
    if (this.#text !== undefined && !afresh && now - this.#readAt < KEEP_MS) return this.#text;
    try {
      this.#text = await readFile(this.#path, "utf8");
      this.#readAt = now;
    } catch (error) {
      // Mid-rotation the file may be away for a moment; what was good a minute ago may still be.
      if (this.#text === undefined) {
        const code = (error as NodeJS.ErrnoException).code ?? "unreadable";
        const cause = code === "ENOENT" ? "does not exist" : `cannot be read (${code})`;
        throw new KubeError("BadKubeconfig", `${this.#path}, named by ${this.#purpose}, ${cause}`, { cause: error });
      }
    }
    return this.#text;
  }
}

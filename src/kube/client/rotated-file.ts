import { readFile } from "node:fs/promises";
import { KubeError } from "./error.ts";

const KEEP_MS = 60_000;
const PROBLEMS: Record<string, string> = { ENOENT: "does not exist", EMPTY: "is empty" };

/** A file that is rotated by another program: read at most once a minute, or if `afresh`. */
export class RotatedFile {
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
      const text = await readFile(this.#path, "utf8");
      // A file that is written in place is empty for a moment; an empty token would make the client anonymous.
      if (text.trim() === "") throw Object.assign(new Error("empty"), { code: "EMPTY" });
      this.#text = text;
      this.#readAt = now;
    } catch (error) {
      // During a rotation the file may be missing for a moment; the last content may still be valid.
      if (this.#text === undefined) {
        const code = (error as NodeJS.ErrnoException).code ?? "unreadable";
        throw new KubeError("BadKubeconfig", `${this.#path}, named by ${this.#purpose}, ${PROBLEMS[code] ?? `cannot be read (${code})`}`, {
          cause: error,
        });
      }
    }
    return this.#text;
  }
}

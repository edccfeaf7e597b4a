import { open, stat } from "node:fs/promises";

interface Audited {
  userAgent?: string;
}

/** Counts what a client sends, whatever it is, as the server sees it. */
export class Audit {
  readonly #log: string;
  #from = 0;

  constructor(log: string) {
    this.#log = log;
  }

  /** Forgets what was sent so far. */
  async begin(): Promise<void> {
    this.#from = (await stat(this.#log)).size;
  }

  async requestsOf(userAgent: string): Promise<number> {
    await using file = await open(this.#log);
    let count = 0;
    for await (const line of file.readLines({ start: this.#from, autoClose: false })) {
      const entry = JSON.parse(line) as Audited;
      if (entry.userAgent === userAgent) count += 1;
    }
    return count;
  }
}

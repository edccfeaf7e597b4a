import type { ConfigSet } from "./config-set.ts";
import type { Console } from "./console.ts";
import { changes, type Change } from "./diff.ts";
import { describe, masked, type Entry } from "./entry.ts";

export interface RefusedLine {
  readonly line: string;
  readonly daemon: string;
  /** FRR's own. */
  readonly words: string;
}

/** Changes sent one after the other, and what was there before each, so that all of them can be taken back. */
export class Attempt {
  readonly sent: string[] = [];
  readonly #have: ConfigSet;
  readonly #console: Console;
  readonly #before = new Map<string, { entry: Entry; there: boolean }>();

  constructor(have: ConfigSet, console: Console) {
    this.#have = have;
    this.#console = console;
  }

  /** Stops at the first line that FRR refuses. */
  async send(changes: readonly Change[]): Promise<RefusedLine | undefined> {
    for (const change of changes) {
      const refused = await this.try(change);
      if (refused) return refused;
    }
    return undefined;
  }

  async try(change: Change): Promise<RefusedLine | undefined> {
    const words = await this.#console.send(change);
    const line = describe({ path: change.context, line: change.send });
    if (words !== undefined) return { line, daemon: change.daemon, words: masked(words) };
    this.sent.push(line);
    for (const entry of change.drops) this.#now(entry, false);
    this.#now(change.entry, change.do === "add");
    return undefined;
  }

  /** Back to what was there before the first change. What FRR refuses even then is found when everything is read back. */
  async takeBack(): Promise<void> {
    const touched = new Map(this.#before);
    const back = changes(this.#have, {
      remove: [...touched.values()].flatMap(({ entry, there }) => (there ? [] : [entry])),
      add: [...touched.values()].flatMap(({ entry, there }) => (there ? [entry] : [])),
      wanted: (entry) => touched.get(entry.key)?.there ?? this.#have.has(entry),
    });
    for (const change of back) await this.try(change);
  }

  #now(entry: Entry, there: boolean): void {
    if (!this.#before.has(entry.key)) this.#before.set(entry.key, { entry, there: this.#have.has(entry) });
    if (there) this.#have.add(entry);
    else this.#have.delete(entry);
  }
}

import type { ConfigSet } from "./config-set.ts";
import type { ConfigSession } from "./config-session.ts";
import { changes, type LineChange } from "./diff.ts";
import { describe, masked, type ConfigEntry } from "./entry.ts";
import { isOfBgp, isPolicy } from "./grammar.ts";

export interface RejectedLine {
  /** Empty if FRR rejects raw text as a whole; its message then names the line. */
  readonly line: string;
  readonly daemon: string;
  readonly text: string;
}

export function rejectionText({ line, daemon, text }: RejectedLine): string {
  return line === "" ? `FRR rejected it: ${text}` : `${daemon} rejected "${line}": ${text}`;
}

/** Sent changes with the previous state of each, so that all can be rolled back. */
export class Transaction {
  readonly sent: string[] = [];
  readonly #have: ConfigSet;
  readonly #console: ConfigSession;
  readonly #touched: Set<string>;
  readonly #before = new Map<string, { entry: ConfigEntry; there: boolean }>();

  /** The keys of lines that FRR accepts are added to `touched`. */
  constructor(have: ConfigSet, console: ConfigSession, touched: Set<string>) {
    this.#have = have;
    this.#console = console;
    this.#touched = touched;
  }

  /**
   * Lines for one daemon are sent in order; independent ones for two daemons in parallel: policies before anything that may use them, and
   * instances and VNIs one after the other. Stops at the first rejected line.
   */
  async send(changes: readonly LineChange[]): Promise<RejectedLine | undefined> {
    await this.#console.open(changes.map(({ daemon }) => daemon));
    const accepted: string[] = [];
    const rejections: RejectedLine[] = [];
    let isOver = false;
    const take = async (change: LineChange, index: number, first: readonly Promise<void>[], gate?: Promise<void>) => {
      await Promise.all(first);
      if (isOver) return;
      try {
        if (gate) {
          // Entering the context takes zebra long, and does not depend on other lines.
          await this.#console.approach(change);
          await gate;
          if (isOver) return;
        }
        const rejected = await this.#sendOne(change);
        if (rejected) rejections[index] = rejected;
        else accepted[index] = describeChange(change);
        isOver ||= rejected !== undefined;
      } catch (error) {
        isOver = true;
        throw error;
      }
    };

    let barrier = Promise.resolve();
    let gate = barrier;
    const lanes = new Map<string, Promise<void>>();
    for (const [index, change] of changes.entries()) {
      const { daemon, entry } = change;
      const isBarrier = isPolicy(entry.path, entry.line);
      const lane = lanes.get(daemon) ?? barrier;
      const taken = take(change, index, isBarrier ? [barrier, ...lanes.values()] : [lane], isOfBgp(entry) ? gate : undefined);
      if (isBarrier) lanes.clear();
      else lanes.set(daemon, taken);
      if (isBarrier) barrier = taken;
      if (isBarrier || isOfBgp(entry)) gate = taken;
    }
    const ends = await Promise.allSettled([barrier, gate, ...lanes.values()]);
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    this.sent.push(...accepted.filter(Boolean));
    return rejections.find(Boolean);
  }

  /** One line, ignoring the result. */
  async try(change: LineChange): Promise<void> {
    if (!(await this.#sendOne(change))) this.sent.push(describeChange(change));
  }

  /** Restores the previous state. Remaining differences are found when everything is read back. */
  async rollback(): Promise<void> {
    const touched = new Map(this.#before);
    const back = changes(this.#have, {
      remove: [...touched.values()].flatMap(({ entry, there }) => (there ? [] : [entry])),
      add: [...touched.values()].flatMap(({ entry, there }) => (there ? [entry] : [])),
      wanted: (entry) => touched.get(entry.key)?.there ?? this.#have.has(entry),
    });
    for (const change of back) await this.try(change);
  }

  async #sendOne(change: LineChange): Promise<RejectedLine | undefined> {
    const problem = await this.#console.send(change);
    if (problem !== undefined) return { line: describeChange(change), daemon: change.daemon, text: masked(problem) };
    for (const entry of change.drops) this.#now(entry, false);
    this.#now(change.entry, change.do === "add");
    return undefined;
  }

  #now(entry: ConfigEntry, there: boolean): void {
    this.#touched.add(entry.key);
    if (!this.#before.has(entry.key)) this.#before.set(entry.key, { entry, there: this.#have.has(entry) });
    if (there) this.#have.add(entry);
    else this.#have.delete(entry);
  }
}

function describeChange({ context, send }: LineChange): string {
  return describe({ path: context, line: send });
}

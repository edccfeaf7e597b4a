import { hostname } from "node:os";
import type { Asked } from "./asked.ts";
import { Attempt, type RefusedLine } from "./attempt.ts";
import type { ConfigSet } from "./config-set.ts";
import { merge, print } from "./config.ts";
import { Console } from "./console.ts";
import type { Dialect } from "./dialect.ts";
import { changes } from "./diff.ts";
import { describe, masked, type Entry } from "./entry.ts";
import { FrrError } from "./error.ts";
import type { Fragment } from "./fragment.ts";
import { isDefaultInstance, isFrrsOwn, isOfBgp } from "./grammar.ts";
import type { FrrInstance } from "./instance.ts";
import { Memory } from "./memory.ts";
import { reload } from "./reload.ts";

export interface FragmentOutcome {
  /** How many lines FRR was told, those that were taken back included. */
  readonly sent: number;
  /** The same in words, passwords masked. */
  readonly lines: readonly string[];
  /** Nothing of the fragment is there then, and its earlier form holds. */
  readonly refused?: RefusedLine;
  /** It cannot be said in lines: the default instance has another AS. Nothing was sent. */
  readonly rebuild?: true;
}

export interface Finished {
  /** Lines that belonged to nobody: typed by a person, or left over. They are gone. */
  readonly foreign: readonly string[];
  /** What was not as it should be when all was read back. */
  readonly differed: readonly string[];
  /** What FRR took without a word and does not have, not even after a repair. */
  readonly lost?: readonly { readonly owner: string; readonly line: string }[];
}

const NOTHING: FragmentOutcome = { sent: 0, lines: [] };
/** Free text is FRR's own script's to bring in, all of it at once, and FRR's to put into words: its lines have one owner. */
const RAW = "RawFRRConfig";

/** One pass over a router's FRR: read once, change fragment by fragment, read back once. */
export class FrrPass {
  readonly #instance: FrrInstance;
  readonly #memory: Memory;
  readonly #dialect: Dialect;
  readonly #asked: Asked;
  readonly #fragments: Map<string, Fragment>;
  readonly #signal: AbortSignal;
  readonly #console: Console;
  readonly #strangers: readonly Entry[];
  #have: ConfigSet;
  /** All that is asked for is known to be there: nothing was sent yet. */
  #isIntact: boolean;
  #changed = false;

  private constructor(instance: FrrInstance, memory: Memory, have: ConfigSet, signal: AbortSignal) {
    this.#instance = instance;
    this.#memory = memory;
    this.#dialect = memory.dialect;
    this.#asked = memory.asked;
    this.#fragments = memory.fragments;
    this.#signal = signal;
    this.#console = new Console(instance.router, signal);
    this.#have = have;
    this.#asked.set(RAW, memory.settled?.text === this.#rawText() ? memory.settled.entries : []);
    const { stray, missing } = memory.differences(have);
    this.#strangers = stray;
    this.#isIntact = stray.length === 0 && missing.length === 0;
  }

  /** `applied` is what earlier passes put there, and what should stay unless it is replaced or removed. */
  static async open(instance: FrrInstance, applied: readonly Fragment[], signal: AbortSignal): Promise<FrrPass> {
    const { router } = instance;
    const memory = Memory.take(instance, await router.version(signal));
    // While FRR prints, there is time to get ready.
    const [have] = await Promise.all([memory.dialect.read(router, signal), prepare(memory, applied)]);
    return new FrrPass(instance, memory, have, signal);
  }

  /** The whole configuration as it is wanted now, in the words of this FRR. */
  get configuration(): string {
    // What FRR and vtysh say of themselves is part of what the script compares, and the machine's name is among it whatever the daemons are called.
    const itself = new Set([`hostname ${hostname()}`]);
    for (const { path, line } of this.#have) if (isFrrsOwn(path, line) && !line.startsWith("hostname ")) itself.add(line);
    return this.#dialect.text([...[...itself].map((line) => ({ line })), ...merge([...this.#fragments.values()])]);
  }

  /** Brings a fragment in, in place of its earlier form. Only the difference is sent; a line that FRR refuses takes back the others. */
  async bring(fragment: Fragment): Promise<FragmentOutcome> {
    const known = this.#memory.known(fragment);
    const entries = this.#dialect.entries(known);
    if (this.#asked.of(fragment.owner) === entries && (this.#isIntact || this.#areThere(entries))) return NOTHING;
    if (entries.some((entry) => isDefaultInstance(entry) && this.#have.rivalsOf(entry).length)) return { ...NOTHING, rebuild: true };
    const outcome = await this.#exchange(fragment.owner, entries);
    if (!outcome.refused) this.#fragments.set(fragment.owner, known);
    return outcome;
  }

  async remove(owner: string): Promise<FragmentOutcome> {
    const before = this.#fragments.get(owner);
    if (!before) return NOTHING;
    if (isRaw(before)) return await this.#withRaw(owner, undefined);
    const outcome = await this.#exchange(owner, []);
    if (!outcome.refused) this.#fragments.delete(owner);
    return outcome;
  }

  /** Brings in text that a person wrote. FRR's own script does it, since only that knows how to say anything there is. */
  async bringRaw(fragment: Fragment): Promise<FragmentOutcome> {
    try {
      this.#dialect.entries(fragment);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      return { ...NOTHING, refused: { line: "", daemon: "vtysh", words: error.message } };
    }
    return await this.#withRaw(fragment.owner, fragment);
  }

  /** Takes down BGP with all its instances, and sets up these fragments. What else there was is for the caller to bring again. */
  async rebuild(fragments: readonly Fragment[]): Promise<FragmentOutcome> {
    const down = changes(this.#have, { remove: this.#have.filter(isOfBgp), add: [], wanted: () => false });
    const torn = await this.#send(down);
    const lines = [...torn.lines];
    if (torn.refused) return { sent: lines.length, lines, refused: torn.refused };
    for (const fragment of fragments) {
      const outcome = await this.bring(fragment);
      lines.push(...outcome.lines);
      if (outcome.refused) return { sent: lines.length, lines, refused: outcome.refused };
    }
    return { sent: lines.length, lines };
  }

  /** Removes what belongs to nobody, reads all back and compares; what differs is repaired once by FRR's own script. */
  async finish({ repair = true }: { repair?: boolean } = {}): Promise<Finished> {
    const { stray } = this.#memory.differences(this.#have);
    const left = changes(this.#have, { remove: stray, add: [], wanted: (entry) => this.#asked.has(entry) });
    const attempt = new Attempt(this.#have, this.#console);
    for (const change of left) await attempt.try(change);
    if (this.#changed || left.length) this.#have = await this.#read();

    const foreign = inWords(this.#strangers.filter((entry) => !this.#asked.has(entry)));
    const differences = this.#memory.differences(this.#have);
    const differed = inWords([...differences.stray, ...differences.missing]);
    if (differed.length === 0) this.#memory.isClean(this.#have);
    else if (repair) {
      await reload(this.#instance, this.configuration, this.#signal).catch((error: unknown) => {
        if (!(error instanceof FrrError)) throw error;
        differed.push(masked(error.message));
      });
      this.#have = await this.#read();
    }
    const lost = differed.length > 0 && repair ? this.#lost() : [];
    this.#console.close();
    this.#memory.keepFor(this.#instance);
    return { foreign, differed, ...(lost.length > 0 && { lost }) };
  }

  #lost(): NonNullable<Finished["lost"]> {
    const { missing } = this.#memory.differences(this.#have);
    return missing.flatMap((entry) => {
      const owners = this.#asked.ownersOf(entry).flatMap((owner) => (owner === RAW ? this.#raws().map((raw) => raw.owner) : [owner]));
      return owners.map((owner) => ({ owner, line: describe(entry) }));
    });
  }

  async #exchange(owner: string, entries: readonly Entry[]): Promise<FragmentOutcome> {
    const before = this.#asked.of(owner);
    const leaving = this.#asked.set(owner, entries).flatMap((entry) => this.#memory.everywhere(entry, this.#have));
    const outcome = await this.#send(changes(this.#have, { remove: leaving, add: entries, wanted: (entry) => this.#asked.has(entry) }));
    if (outcome.refused) this.#asked.set(owner, before);
    return outcome;
  }

  async #send(list: ReturnType<typeof changes>): Promise<FragmentOutcome> {
    if (list.length === 0) return NOTHING;
    this.#changed = true;
    this.#isIntact = false;
    const attempt = new Attempt(this.#have, this.#console);
    const refused = await attempt.send(list);
    if (refused) await attempt.takeBack();
    return { sent: attempt.sent.length, lines: attempt.sent, ...(refused && { refused }) };
  }

  async #withRaw(owner: string, fragment: Fragment | undefined): Promise<FragmentOutcome> {
    const before = this.#fragments.get(owner);
    this.#put(owner, fragment);
    const outcome = await this.#settle();
    if (outcome.refused) this.#put(owner, before);
    return outcome;
  }

  #put(owner: string, fragment: Fragment | undefined): void {
    if (fragment) this.#fragments.set(owner, fragment);
    else this.#fragments.delete(owner);
  }

  async #settle(): Promise<FragmentOutcome> {
    const text = this.#rawText();
    const { settled } = this.#memory;
    const entries = settled?.text === text ? settled.entries : this.#dialect.entries({ owner: RAW, lines: merge(this.#raws()) });
    const keys = new Set(entries.map(({ key }) => key));
    if (this.#areThere(entries) && this.#asked.of(RAW).every(({ key }) => keys.has(key)) && (settled || entries.length)) {
      this.#asked.set(RAW, entries);
      this.#memory.settled = { text, entries };
      return NOTHING;
    }

    const before = this.#have;
    const refusal = await this.#reload();
    this.#changed = true;
    this.#isIntact = false;
    this.#have = await this.#read();
    const raw = this.#asked.of(RAW);
    this.#asked.set(RAW, []);
    const lost = this.#asked.find((entry) => before.has(entry) && !this.#have.has(entry));
    const words = refusal ?? (lost && `it takes away what others need: ${describe(lost)}`);
    if (words === undefined) {
      const entries = this.#memory.differences(this.#have).stray;
      this.#asked.set(RAW, entries);
      this.#memory.settled = { text, entries };
      const lines = inWords(entries.filter((entry) => !before.has(entry)));
      return { sent: lines.length, lines };
    }
    this.#asked.set(RAW, raw);
    const back = await this.#send(
      changes(this.#have, {
        remove: this.#have.filter((entry) => !before.has(entry) && !isFrrsOwn(entry.path, entry.line)),
        add: this.#asked.filter((entry) => before.has(entry)),
        wanted: (entry) => before.has(entry),
      }),
    );
    return { sent: back.sent, lines: back.lines, refused: { line: "", daemon: "vtysh", words } };
  }

  async #reload(): Promise<string | undefined> {
    try {
      await reload(this.#instance, this.configuration, this.#signal);
      return undefined;
    } catch (error) {
      if (error instanceof FrrError && error.code === "ReloadFailed") return masked(error.message);
      throw error;
    }
  }

  #read(): Promise<ConfigSet> {
    return this.#dialect.read(this.#instance.router, this.#signal);
  }

  #raws(): Fragment[] {
    return [...this.#fragments.values()].filter(isRaw);
  }

  #rawText(): string {
    return print(merge(this.#raws()));
  }

  #areThere(entries: readonly Entry[]): boolean {
    return entries.every((entry) => this.#have.has(entry));
  }
}

async function prepare(memory: Memory, applied: readonly Fragment[]): Promise<void> {
  memory.forgetOthers(new Set(applied.map(({ owner }) => owner)));
  for (const fragment of applied) {
    const known = memory.known(fragment);
    memory.fragments.set(fragment.owner, known);
    const entries = isRaw(fragment) ? [] : memory.dialect.entries(known);
    if (memory.asked.of(fragment.owner) !== entries) memory.asked.set(fragment.owner, entries);
  }
}

function isRaw({ owner }: Fragment): boolean {
  return owner.startsWith(`${RAW}/`);
}

function inWords(entries: readonly Entry[]): string[] {
  return [...new Set(entries.map(describe))];
}

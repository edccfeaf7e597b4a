import { hostname } from "node:os";
import { Asked } from "./asked.ts";
import { Attempt, type RefusedLine } from "./attempt.ts";
import type { ConfigSet } from "./config-set.ts";
import { merge, print } from "./config.ts";
import { Console } from "./console.ts";
import { Dialect } from "./dialect.ts";
import { changes } from "./diff.ts";
import { describe, keyOf, masked, type Entry } from "./entry.ts";
import { FrrError } from "./error.ts";
import type { ConfigLine, Fragment } from "./fragment.ts";
import { isDefaultInstance, isFrrsOwn, isOfBgp } from "./grammar.ts";
import type { FrrInstance } from "./instance.ts";
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
}

const NOTHING: FragmentOutcome = { sent: 0, lines: [] };
/** Free text is FRR's own script's to bring in, all of it at once, and FRR's to put into words: its lines have one owner. */
const RAW = "RawFRRConfig";

interface Settled {
  readonly text: string;
  readonly entries: readonly Entry[];
}

/** What FRR made of free text, so that the next pass knows it again. */
const settled = new WeakMap<FrrInstance, Settled>();

const dialects = new WeakMap<FrrInstance, { version: string; dialect: Dialect }>();

/** One pass over a router's FRR: read once, change fragment by fragment, read back once. */
export class FrrPass {
  readonly #instance: FrrInstance;
  readonly #dialect: Dialect;
  readonly #signal: AbortSignal;
  readonly #console: Console;
  readonly #asked = new Asked();
  readonly #fragments = new Map<string, Fragment>();
  readonly #strangers: readonly Entry[];
  #have: ConfigSet;
  #changed = false;

  private constructor(instance: FrrInstance, dialect: Dialect, have: ConfigSet, applied: readonly Fragment[], signal: AbortSignal) {
    this.#instance = instance;
    this.#dialect = dialect;
    this.#signal = signal;
    this.#console = new Console(instance.router, signal);
    this.#have = have;
    for (const fragment of applied) {
      this.#fragments.set(fragment.owner, fragment);
      if (!isRaw(fragment)) this.#asked.set(fragment.owner, dialect.entries(fragment));
    }
    const known = settled.get(instance);
    if (known?.text === this.#rawText()) this.#asked.set(RAW, known.entries);
    this.#strangers = this.#unasked();
  }

  /** `applied` is what earlier passes put there, and what should stay unless it is replaced or removed. */
  static async open(instance: FrrInstance, applied: readonly Fragment[], signal: AbortSignal): Promise<FrrPass> {
    const dialect = await dialectOf(instance, signal);
    return new FrrPass(instance, dialect, await dialect.read(instance.router, signal), applied, signal);
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
    const before = this.#fragments.get(fragment.owner);
    const entries = this.#dialect.entries(before && isSame(before, fragment) ? before : fragment);
    if (entries.every(({ key }) => this.#have.has(key)) && this.#asked.of(fragment.owner) === entries) return NOTHING;
    if (entries.some((entry) => isDefaultInstance(entry) && this.#have.rivalsOf(entry).length)) return { ...NOTHING, rebuild: true };
    const outcome = await this.#exchange(fragment.owner, entries);
    if (!outcome.refused) this.#fragments.set(fragment.owner, fragment);
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
    const down = changes(this.#have, { remove: [...this.#have].filter(isOfBgp), add: [], wanted: () => false });
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
    const left = changes(this.#have, { remove: this.#unasked(), add: [], wanted: (entry) => this.#asked.has(entry) });
    const attempt = new Attempt(this.#have, this.#console);
    for (const change of left) await attempt.try(change);
    if (this.#changed || left.length) this.#have = await this.#read();

    const foreign = inWords(this.#strangers.filter((entry) => !this.#asked.has(entry)));
    const differed = inWords([...this.#unasked(), ...this.#missing()]);
    if (differed.length && repair) {
      await reload(this.#instance, this.configuration, this.#signal).catch((error: unknown) => {
        if (!(error instanceof FrrError)) throw error;
        differed.push(masked(error.message));
      });
    }
    this.#console.close();
    return { foreign, differed };
  }

  async #exchange(owner: string, entries: readonly Entry[]): Promise<FragmentOutcome> {
    const before = this.#asked.of(owner);
    const leaving = this.#asked.set(owner, entries).flatMap((entry) => this.#everywhere(entry));
    const outcome = await this.#send(changes(this.#have, { remove: leaving, add: entries, wanted: (entry) => this.#asked.has(entry) }));
    if (outcome.refused) this.#asked.set(owner, before);
    return outcome;
  }

  async #send(list: ReturnType<typeof changes>): Promise<FragmentOutcome> {
    if (list.length === 0) return NOTHING;
    this.#changed = true;
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
    const known = settled.get(this.#instance);
    const entries = known?.text === text ? known.entries : this.#dialect.entries({ owner: RAW, lines: merge(this.#raws()) });
    const stays = (entry: Entry) => entries.some(({ key }) => key === entry.key);
    if (entries.every(({ key }) => this.#have.has(key)) && this.#asked.of(RAW).every(stays) && (known || entries.length)) {
      this.#asked.set(RAW, entries);
      settled.set(this.#instance, { text, entries });
      return NOTHING;
    }

    const before = this.#have;
    const refusal = await this.#reload();
    this.#changed = true;
    this.#have = await this.#read();
    const raw = this.#asked.of(RAW);
    this.#asked.set(RAW, []);
    const lost = [...this.#asked].find(({ key }) => before.has(key) && !this.#have.has(key));
    const words = refusal ?? (lost && `it takes away what others need: ${describe(lost)}`);
    if (words === undefined) {
      const entries = this.#unasked();
      this.#asked.set(RAW, entries);
      settled.set(this.#instance, { text, entries });
      const lines = inWords(entries.filter(({ key }) => !before.has(key)));
      return { sent: lines.length, lines };
    }
    this.#asked.set(RAW, raw);
    const back = await this.#send(
      changes(this.#have, {
        remove: [...this.#have].filter((entry) => !before.has(entry.key) && !isFrrsOwn(entry.path, entry.line)),
        add: [...this.#asked].filter(({ key }) => before.has(key)),
        wanted: (entry) => before.has(entry.key),
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

  /** The line in every daemon that has it. */
  #everywhere({ text }: Entry): Entry[] {
    return this.#dialect.daemons.flatMap((daemon) => this.#have.get(keyOf(daemon, text)) ?? []);
  }

  #unasked(): Entry[] {
    return [...this.#have].filter((entry) => !this.#asked.has(entry) && !isFrrsOwn(entry.path, entry.line));
  }

  #missing(): Entry[] {
    return [...this.#asked].filter(({ key }) => !this.#have.has(key));
  }
}

/** Kept for as long as the same FRR runs: it knows what it read before. */
async function dialectOf(instance: FrrInstance, signal: AbortSignal): Promise<Dialect> {
  const { text, major } = await instance.router.version(signal);
  const known = dialects.get(instance);
  if (known?.version === text) return known.dialect;
  const dialect = new Dialect({ major });
  dialects.set(instance, { version: text, dialect });
  return dialect;
}

function isSame(one: Fragment, other: Fragment): boolean {
  return one === other || areSame(one.lines, other.lines);
}

function areSame(these: readonly ConfigLine[] | undefined, those: readonly ConfigLine[] | undefined): boolean {
  if (!these || !those) return these === those;
  return (
    these.length === those.length && these.every(({ line, inside }, at) => line === those[at]?.line && areSame(inside, those[at]?.inside))
  );
}

function isRaw({ owner }: Fragment): boolean {
  return owner.startsWith(`${RAW}/`);
}

function inWords(entries: readonly Entry[]): string[] {
  return [...new Set(entries.map(describe))];
}

import { changes } from "./diff.ts";
import { describe, masked, type ConfigEntry } from "./entry.ts";
import type { Fragment } from "./fragment.ts";
import { isDefaultInstance, isOfBgp } from "./grammar.ts";
import type { FrrInstance } from "./instance.ts";
import type { PassCache } from "./pass-cache.ts";
import { isRaw, putRaw, RAW, rawsAmong, rawText } from "./raw-text.ts";
import { lineTexts, NO_CHANGE, RunningState, type FragmentOutcome } from "./running-state.ts";

export type { FragmentOutcome } from "./running-state.ts";

/** A function is called only if the last pass over this instance left no cache: the caller is the only one that configures it. */
export type Applied = readonly Fragment[] | (() => readonly Fragment[]);

export interface OwnedLine {
  readonly owner: string;
  readonly line: string;
}

export interface ReadBackResult {
  /** Lines without an owner: typed by a person, or left over. They are removed. */
  readonly foreign: readonly string[];
  /** Lines that were removed or changed from outside since the last pass, and are restored. */
  readonly restored?: readonly OwnedLine[];
  /** Differences found when everything was read back. */
  readonly differed: readonly string[];
  /** Lines that FRR accepted but does not have, not even after a repair. */
  readonly lost?: readonly OwnedLine[];
}

interface FinishOptions {
  repair?: boolean;
  readBack?: boolean;
  keepForeign?: boolean;
}

/**
 * One pass over a router's FRR: changes fragment by fragment, and reads back once. It starts with what the last pass read at its end;
 * changes since then are found when everything is read back, or when FRR rejects a line.
 */
export class FrrPass {
  readonly #running: RunningState;
  readonly #memory: PassCache;
  #strangers: readonly ConfigEntry[];

  private constructor(running: RunningState) {
    this.#running = running;
    this.#memory = running.memory;
    this.#strangers = running.isIntact ? [] : running.compare().stray;
  }

  /** `applied`: the fragments of earlier passes, which stay unless they are replaced or removed. */
  static async open(instance: FrrInstance, applied: Applied, signal: AbortSignal): Promise<FrrPass> {
    return new FrrPass(await RunningState.of(instance, (memory) => recall(memory, applied), signal));
  }

  /** The wanted configuration, in the syntax of this FRR version. */
  get configuration(): string {
    return this.#running.configuration;
  }

  /** Applies a fragment in place of its earlier version. Only the difference is sent; if FRR rejects a line, the others are reverted. */
  async apply(fragment: Fragment): Promise<FragmentOutcome> {
    const known = this.#memory.known(fragment);
    const { entries, unsayable } = this.#inLines(known);
    if (unsayable) return unsayable;
    if (this.#memory.desired.of(fragment.owner) === entries && this.#running.hasAll(entries)) return NO_CHANGE;
    const outcome = await this.#surely(async () => {
      if (entries.some((entry) => isDefaultInstance(entry) && this.#running.have.rivalsOf(entry).length))
        return { ...NO_CHANGE, rebuild: true };
      return await this.#running.exchange(fragment.owner, entries);
    });
    if (!outcome.rejected && !outcome.rebuild) this.#memory.fragments.set(fragment.owner, known);
    return outcome;
  }

  async remove(owner: string): Promise<FragmentOutcome> {
    const before = this.#memory.fragments.get(owner);
    if (!before) return NO_CHANGE;
    if (isRaw(before)) return await putRaw(this.#running, owner, undefined);
    const outcome = await this.#surely(() => this.#running.exchange(owner, []));
    if (!outcome.rejected) this.#memory.fragments.delete(owner);
    return outcome;
  }

  /** Applies raw text with FRR's own script, which supports every command. */
  async applyRaw(fragment: Fragment): Promise<FragmentOutcome> {
    const { unsayable } = this.#inLines(fragment);
    return unsayable ?? (await putRaw(this.#running, fragment.owner, fragment));
  }

  /** Removes BGP with all its instances, or some of them, and applies these fragments. The caller must apply the others again. */
  async rebuild(fragments: readonly Fragment[], isRemoved: (entry: ConfigEntry) => boolean = isOfBgp): Promise<FragmentOutcome> {
    const torn = await this.#surely(() => {
      const { have } = this.#running;
      return this.#running.send(changes(have, { remove: have.filter(isRemoved), add: [], wanted: () => false }));
    });
    const lines = [...torn.lines];
    if (torn.rejected) return { sent: lines.length, lines, rejected: torn.rejected };
    for (const fragment of fragments) {
      const outcome = await this.apply(fragment);
      lines.push(...outcome.lines);
      if (outcome.rejected) return { sent: lines.length, lines, rejected: outcome.rejected };
    }
    return { sent: lines.length, lines };
  }

  /**
   * Reads everything back. Removes lines without an owner and sends missing ones again; remaining differences are repaired once by FRR's
   * own script. A pass that continues from the last one may leave the reading to the next, if FRR accepted every line. With `keepForeign`
   * lines without an owner stay, and the script does not run: it would remove them.
   */
  async finish({ repair = true, readBack = true, keepForeign = false }: FinishOptions = {}): Promise<ReadBackResult> {
    const running = this.#running;
    if (!readBack && !running.isFresh) {
      running.close("trusted");
      return { foreign: [], differed: [] };
    }
    if (running.isToBeRead) await running.read();
    const compare = () => (keepForeign ? { stray: [], missing: running.compare().missing } : running.compare());
    const { stray, missing } = compare();
    // mgmtd 10 may lose a line of this pass when another session ends: that is no foreign change.
    const forgotten = new Set([...stray, ...missing].filter((entry) => entry.daemon === "mgmtd" && running.hasTouched(entry)));
    if (stray.length > 0 || missing.length > 0) {
      const wanted = (entry: ConfigEntry) => this.#memory.desired.has(entry);
      await running.trySending(changes(running.have, { remove: stray, add: missing, wanted }));
      await running.read();
    }

    const restored = this.#owned(missing.filter((entry) => running.have.has(entry) && !forgotten.has(entry)));
    let left = compare();
    const differed = lineTexts([...left.stray, ...left.missing]);
    const isClean = differed.length === 0;
    if (repair && !keepForeign && this.#memory.isNew(differed)) {
      const problem = await running.reload();
      if (problem !== undefined) differed.push(problem);
      left = running.compare();
    }
    const isForeign = (entry: ConfigEntry) => !this.#memory.desired.has(entry) && !running.have.has(entry) && !forgotten.has(entry);
    const foreign = keepForeign ? [] : lineTexts([...this.#strangers, ...stray].filter(isForeign));
    const lost = isClean || !repair ? [] : this.#owned(left.missing);
    running.close(isClean && !keepForeign ? "clean" : "in doubt");
    return { foreign, differed, ...(restored.length > 0 && { restored }), ...(lost.length > 0 && { lost }) };
  }

  /** Invalid lines are rejected before anything is sent to FRR. */
  #inLines(fragment: Fragment): { entries: readonly ConfigEntry[]; unsayable?: FragmentOutcome } {
    try {
      return { entries: this.#memory.dialect.entries(fragment) };
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      return { entries: [], unsayable: { ...NO_CHANGE, rejected: { line: "", daemon: "vtysh", text: masked(error.message) } } };
    }
  }

  /** A rejection may be due to a change since FRR was read: then everything is read again and retried once. */
  async #surely(attempt: () => Promise<FragmentOutcome>): Promise<FragmentOutcome> {
    const first = await attempt();
    if (!(first.rejected || first.rebuild) || this.#running.isFresh) return first;
    await this.#running.read();
    this.#strangers = this.#running.compare().stray;
    const second = await attempt();
    return { ...second, sent: first.sent + second.sent, lines: [...first.lines, ...second.lines] };
  }

  #owned(entries: readonly ConfigEntry[]): OwnedLine[] {
    const raws = rawsAmong(this.#memory.fragments).map(({ owner }) => owner);
    return entries.flatMap((entry) => {
      const owners = this.#memory.desired.ownersOf(entry).flatMap((owner) => (owner === RAW ? raws : [owner]));
      return owners.map((owner) => ({ owner, line: describe(entry) }));
    });
  }
}

function recall(memory: PassCache, applied: Applied): void {
  const { desired, dialect, fragments, appliedRaw } = memory;
  if (typeof applied === "function" && fragments.size > 0) return;
  const list = typeof applied === "function" ? applied() : applied;
  memory.forgetOthers(new Set(list.map(({ owner }) => owner)));
  for (const fragment of list) {
    const known = memory.known(fragment);
    fragments.set(fragment.owner, known);
    if (!isRaw(fragment)) desired.set(fragment.owner, dialect.entries(known));
  }
  desired.set(RAW, appliedRaw?.text === rawText(fragments) ? appliedRaw.entries : []);
}

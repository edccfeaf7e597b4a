import type { Address } from "../../../ip/address.ts";
import { DEVICE } from "./ip-address-commands.ts";
import { letsGo, yields } from "./conflict.ts";
import {
  ANNOUNCEMENTS,
  ask,
  dueOf,
  FRESH_MS,
  isDecided,
  LIFETIME_MS,
  LISTEN_MS,
  MOST,
  PROBES,
  takeSilent,
  type Writable,
} from "./acquire.ts";
import { standingOf, type Drop, type Due, type Holding, type Sought, type Spot, type Standing, type Steps, type Tenure } from "./address-ownership.ts";

const AGAIN_MS = 1_000;
const REFRESH_MS = 5_000;
const ALONG_MS = 1_000;
const ANNOUNCE_EVERY_MS = 1_000;
const DEFEND_EVERY_MS = 10_000;
const CHECK_EVERY_MS = 1_000;
/** A kernel may be so slow, and no slower. */
const SLOW_MS = 10_000;

/** Which addresses this node takes, holds and lets go, and when. It touches nothing: `step` says what is to be done, the other methods are told what came of it. */
export class Tenures {
  readonly #self: string;
  readonly #kernelAnswers: (spot: Spot) => boolean;
  /** By address. */
  readonly #tenures = new Map<string, Tenure[]>();
  /** By address and interface: what could not be dropped and is to be dropped again is dropped once. */
  readonly #drops = new Map<string, Spot>();
  #checkAt = 0;
  #checked = -1;

  /** Where the kernel does not answer, the process for frames does, and nobody while there is none. */
  constructor(self: string, kernelAnswers: (spot: Spot) => boolean = () => true) {
    this.#self = self;
    this.#kernelAnswers = kernelAnswers;
  }

  /** Of an agent before us; the kernel still has it. What is on our own link belongs to the interfaces that are sought first. */
  adopt(spot: Spot, validSeconds: number, now: number): void {
    const until = now + (validSeconds - 1) * 1_000;
    const held = {
      is: "holding",
      since: new Date(),
      confirmed: true,
      refreshed: -Infinity,
      until,
      announced: ANNOUNCEMENTS,
      announceAt: now,
    } as const;
    const others = this.#tenures.get(String(spot.address)) ?? [];
    this.#tenures.set(String(spot.address), [...others, { ...spot, candidates: [this.#self], phase: held }]);
  }

  /** From now on these, and no others. */
  seek(sought: readonly Sought[], now: number): void {
    const before = new Map(this.#tenures);
    this.#tenures.clear();
    for (const { address, nics, candidates } of sought) {
      const known = before.get(String(address)) ?? [];
      const tenures = nics.map((nic): Tenure => {
        const before =
          known.find((one) => one.nic.index === nic.index) ?? (this.#kernelAnswers({ address, nic }) ? adopted(known) : undefined);
        const phase = before?.phase ?? { is: "probing", from: now, sent: 0 };
        const elsewhere = phase.is === "holding" && before?.nic.index === nic.index && before.nic.mac !== nic.mac;
        return { address, nic, candidates, phase: elsewhere ? { ...phase, announced: 0, announceAt: now } : phase };
      });
      this.#tenures.set(String(address), tenures);
    }
    for (const tenure of [...before.values()].flat()) if (tenure.phase.is === "holding" && !this.#same(tenure)) this.#leave(tenure);
  }

  step(now: number, isGuarded: (spot: Spot) => boolean): Steps {
    const steps: Writable<Steps> = {
      drop: [],
      refresh: [],
      add: [],
      announce: [],
      probe: [],
      check: [],
      listened: [],
      relieved: [],
    };
    const holding: Tenure[] = [];
    for (const tenures of this.#tenures.values()) {
      for (const tenure of tenures) {
        if (tenure.phase.is === "holding") this.#hold(tenure, tenure.phase, now, steps);
        if ((tenure.phase.is === "in-use" || tenure.phase.is === "refused") && now >= tenure.phase.again)
          tenure.phase = { is: "probing", from: now, sent: 0, ...("rival" in tenure.phase && { rival: tenure.phase.rival }) };
        if (tenure.phase.is === "probing") ask(tenure, tenure.phase, now, steps);
        if (tenure.phase.is === "holding") holding.push(tenure);
      }
      if (isDecided(tenures)) takeSilent(tenures, now, isGuarded, steps);
    }
    // What is taken anew must not be dropped afterwards.
    for (const spot of steps.add) this.#drops.delete(keyOf(spot));
    for (const [key, spot] of this.#drops.entries().take(MOST)) {
      steps.drop.push(this.#dropOf(spot));
      this.#drops.delete(key);
    }
    this.#refresh(holding, now, steps);
    this.#check(holding, now, steps);
    return steps;
  }

  /** Nobody has answered for these until now. */
  silent(spots: readonly Spot[], now: number): void {
    for (const { phase, ...spot } of this.#each(spots)) {
      if (phase.is !== "listening") continue;
      // Who was away while others answered has heard nothing for another reason.
      if (now - phase.from > LISTEN_MS + FRESH_MS) this.#put(spot, { ...phase, is: "probing", from: now, sent: 0 });
      else this.#put(spot, { is: "silent", found: now });
    }
  }

  /** The machine was paused: what it holds is older than its monotonic clock says, and others may hold it by now. */
  aged(ms: number): void {
    for (const tenure of [...this.#tenures.values()].flat())
      if (tenure.phase.is === "holding") tenure.phase = { ...tenure.phase, until: tenure.phase.until - ms };
  }

  /** Nothing is known of what is being probed for. */
  deaf(now: number): void {
    for (const tenure of [...this.#tenures.values()].flat()) {
      if (tenure.phase.is === "listening" || tenure.phase.is === "probing")
        tenure.phase = { ...tenure.phase, is: "probing", from: now, sent: 0 };
    }
  }

  /** Probes do not get out. */
  unsent(device: string, words: string, now: number): void {
    for (const tenure of [...this.#tenures.values()].flat())
      if (tenure.nic.name === device && (tenure.phase.is === "listening" || tenure.phase.is === "probing"))
        tenure.phase = { is: "refused", words, again: now + AGAIN_MS };
  }

  /** Another node has let something go: what was in use may be free, and need not be waited for. */
  hurry(now: number): void {
    for (const tenure of [...this.#tenures.values()].flat())
      if (tenure.phase.is === "in-use") tenure.phase = { ...tenure.phase, again: now };
  }

  /** The addresses that are there, of all that should be: the rest is put back with the next step, not with the next refresh. */
  present(found: ReadonlySet<string>): void {
    for (const tenure of [...this.#tenures.values()].flat())
      if (tenure.phase.is === "holding" && tenure.phase.confirmed && !found.has(String(tenure.address)))
        tenure.phase = { ...tenure.phase, refreshed: -Infinity };
  }

  /** Frames were not answered for a while. What the kernel does not answer for, another may have taken since: it is asked for again. */
  unanswered(now: number): void {
    for (const tenure of [...this.#tenures.values()].flat())
      if (tenure.phase.is === "holding" && tenure.nic.name !== DEVICE && !this.#kernelAnswers(tenure)) this.#lose(tenure, now);
  }

  /**
   * The kernel has taken these. Who was away meanwhile may have put back what another has taken since, and asks first. What is new and was only taken slowly
   * is ours if all that was heard until now is known, and nobody was among it. Gives those that are held.
   */
  kept(due: readonly Due[], now: number, heardAll = false): readonly Due[] {
    const held: Due[] = [];
    for (const one of due) {
      const tenure = this.#same(one);
      if (tenure?.phase.is !== "holding") continue;
      const { confirmed, contested = false, refreshed } = tenure.phase;
      const isSlow = heardAll && !confirmed && !contested && now - refreshed < SLOW_MS;
      if (now < one.by || isSlow) {
        tenure.phase = { ...tenure.phase, confirmed: true };
        held.push(one);
      } else {
        this.#lose(tenure, now);
      }
    }
    return held;
  }

  refused(spot: Spot, words: string, again: number): void {
    this.#put(spot, { is: "refused", words, again });
  }

  /** What was asked for could not be done; the next step says it again. */
  undone({ drop, refresh, add }: Pick<Steps, "drop" | "refresh" | "add">, now: number): void {
    for (const spot of drop) this.#leave(spot);
    for (const { by, ...spot } of refresh) {
      const tenure = this.#same(spot);
      if (tenure?.phase.is === "holding") tenure.phase = { ...tenure.phase, refreshed: -Infinity, until: by };
    }
    for (const spot of add) this.#leave(spot);
    for (const spot of add) this.#put(spot, { is: "probing", from: now, sent: 0 });
  }

  /** Another MAC answers for the address. Tells what that means here. */
  claimed(address: Address, device: string, mac: string, node: string | undefined, now: number): "nothing" | "in-use" | "kept" | "let-go" {
    const tenure = this.#at(address, device);
    if (!tenure) return "nothing";
    const { phase } = tenure;
    if (phase.is !== "holding") {
      const known = "rival" in phase && phase.rival === mac;
      tenure.phase = { is: "in-use", rival: mac, again: now + AGAIN_MS };
      return known ? "nothing" : "in-use";
    }
    if (letsGo(this.#self, tenure.candidates, node)) {
      this.#leave(tenure);
      tenure.phase = { is: "in-use", rival: mac, again: now + AGAIN_MS };
      return "let-go";
    }
    // With another node it is settled in a moment; a stranger stays.
    const rival = node === undefined ? { rival: { mac, heard: now } } : {};
    const held: Holding = { ...phase, ...rival, ...(!phase.confirmed && { contested: true }) };
    const isDefended = held.announced === ANNOUNCEMENTS && now >= held.announceAt + DEFEND_EVERY_MS;
    tenure.phase = isDefended ? { ...held, announced: ANNOUNCEMENTS - 1, announceAt: now } : held;
    return isDefended || phase.rival?.mac !== held.rival?.mac ? "kept" : "nothing";
  }

  /** Another node asks for the address too. Of two that ask at once, one waits. */
  contended(address: Address, device: string, mac: string, node: string | undefined, now: number): void {
    const tenure = this.#at(address, device);
    if (tenure?.phase.is === "holding" && !tenure.phase.confirmed) tenure.phase = { ...tenure.phase, contested: true };
    if (tenure?.phase.is !== "probing" && tenure?.phase.is !== "listening") return;
    const { phase } = tenure;
    if (now < phase.from) return;
    const waits = yields({ node: this.#self, mac: tenure.nic.mac }, { node, mac }, tenure.candidates);
    if (waits) tenure.phase = { ...phase, is: "probing", from: now + AGAIN_MS, sent: 0 };
    // The other may have begun after our last probe, and must hear of us.
    else tenure.phase = { ...phase, is: "probing", sent: Math.min(phase.sent, PROBES - 1) };
  }

  /** Undefined for what is not sought. */
  standing(address: Address): Standing | undefined {
    return standingOf(this.#tenures.get(String(address)) ?? []);
  }

  get spots(): readonly Spot[] {
    return [...this.#tenures.values()].flat();
  }

  /** What the kernel has, and for how long it may be relied on. */
  get held(): readonly Due[] {
    return [...this.#tenures.values()]
      .flat()
      .flatMap((tenure) => (tenure.phase.is === "holding" ? [{ ...tenure, by: tenure.phase.until }] : []));
  }

  /** What was to be dropped and has not been. */
  get leaving(): readonly Drop[] {
    return [...this.#drops.values()].map((spot) => this.#dropOf(spot));
  }

  /** When there is something to do again, at the latest in a second. */
  due(now: number): number {
    if (this.#drops.size > 0) return now;
    let due = now + CHECK_EVERY_MS;
    for (const tenures of this.#tenures.values()) for (const { phase } of tenures) due = Math.min(due, dueOf(phase, now));
    return due;
  }

  #hold(tenure: Tenure, phase: Holding, now: number, steps: Writable<Steps>): void {
    if (now >= phase.until) return this.#lose(tenure, now);
    if (!phase.confirmed || phase.announced === ANNOUNCEMENTS || now < phase.announceAt) return;
    steps.announce.push(tenure);
    if (phase.announced === 0) steps.check.push(tenure);
    const announced = phase.announced + 1;
    tenure.phase = { ...phase, announced, announceAt: announced === ANNOUNCEMENTS ? now : now + ANNOUNCE_EVERY_MS };
  }

  #refresh(holding: readonly Tenure[], now: number, steps: Writable<Steps>): void {
    const due = holding.flatMap((tenure) =>
      tenure.phase.is === "holding" && tenure.phase.confirmed ? [{ tenure, phase: tenure.phase }] : [],
    );
    if (!due.some(({ phase }) => now - phase.refreshed >= REFRESH_MS)) return;
    // What is due within the next second comes along: one process for all of them.
    const along = due.filter(({ phase }) => now - phase.refreshed >= REFRESH_MS - ALONG_MS);
    along.sort((a, b) => a.phase.refreshed - b.phase.refreshed);
    for (const { tenure, phase } of along.slice(0, MOST)) {
      steps.refresh.push({ ...tenure, by: phase.until });
      tenure.phase = { ...phase, refreshed: now, until: now + LIFETIME_MS };
    }
  }

  /** One a second, in turn. */
  #check(holding: readonly Tenure[], now: number, steps: Writable<Steps>): void {
    if (now < this.#checkAt || holding.length === 0) return;
    this.#checkAt = now + CHECK_EVERY_MS;
    this.#checked = (this.#checked + 1) % holding.length;
    for (const tenure of holding.slice(this.#checked, this.#checked + 1)) {
      steps.check.push(tenure);
      if (tenure.phase.is === "holding") this.#relieve(tenure, tenure.phase, now, steps);
    }
  }

  /** Who has not answered two times in a row has gone. */
  #relieve(tenure: Tenure, { rival, ...phase }: Holding, now: number, steps: Writable<Steps>): void {
    const [last = -Infinity, before = -Infinity] = phase.checks ?? [];
    const isGone = rival !== undefined && rival.heard < before;
    if (isGone) steps.relieved.push(tenure);
    tenure.phase = { ...phase, checks: [now, last], ...(rival && !isGone && { rival }) };
  }

  #leave(spot: Spot): void {
    this.#drops.set(keyOf(spot), spot);
  }

  #lose(tenure: Tenure, now: number): void {
    this.#leave(tenure);
    tenure.phase = { is: "probing", from: now, sent: 0 };
  }

  #put(spot: Spot, phase: Tenure["phase"]): void {
    const tenure = this.#same(spot);
    if (tenure) tenure.phase = phase;
  }

  #each(spots: readonly Spot[]): Tenure[] {
    return spots.flatMap((spot) => this.#same(spot) ?? []);
  }

  #dropOf({ address, nic }: Spot): Drop {
    const isHeld = this.#tenures.get(String(address))?.some(({ phase }) => phase.is === "holding") === true;
    return { address, nic, isLast: !isHeld };
  }

  #same({ address, nic }: Spot): Tenure | undefined {
    return this.#tenures.get(String(address))?.find((one) => one.nic.index === nic.index);
  }

  #at(address: Address, device: string): Tenure | undefined {
    return this.#tenures.get(String(address))?.find(({ nic }) => nic.name === device);
  }
}

/** It was answered for on the interfaces that were selected then; which those are is known only now. */
const adopted = (tenures: readonly Tenure[]) => tenures.find(({ nic, phase }) => nic.name === DEVICE && phase.is === "holding");

const keyOf = ({ address, nic }: Spot) => `${String(address)} ${nic.index}`;

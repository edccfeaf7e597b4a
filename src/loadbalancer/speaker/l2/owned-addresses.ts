import type { Address } from "../../../ip/address.ts";
import { DEVICE } from "./ip-address-commands.ts";
import { shouldRelease, shouldWait } from "../../announcement/l2-election.ts";
import { ANNOUNCEMENTS, sendProbe, dueOf, FRESH_MS, isDecided, LISTEN_MS, MOST, PROBES, acquire, type Writable } from "./acquire.ts";
import { announceOwned, checkOwned, refreshOwned } from "./keep.ts";
import {
  answeredBefore,
  ownershipState,
  type Drop,
  type Due,
  type OwnedPhase,
  type AddressToOwn,
  type AddressOnInterface,
  type OwnershipState,
  type Steps,
  type AddressOwnership,
} from "./address-ownership.ts";

const AGAIN_MS = 1_000;
const DEFEND_EVERY_MS = 10_000;
const CHECK_EVERY_MS = 1_000;
/** Another node that hears of us, or is excluded, releases the address by then. */
const HANDOVER_MS = 10_000;
/** The longest that the kernel may take. */
const SLOW_MS = 10_000;

/** Pure: `step` returns what to do, the other methods take the results. */
export class OwnedAddresses {
  readonly #self: string;
  readonly #kernelAnswers: (addressOnNic: AddressOnInterface) => boolean;
  readonly #ownerships = new Map<string, AddressOwnership[]>();
  /** By address and interface, so that a repeated drop is executed once. */
  readonly #drops = new Map<string, AddressOnInterface>();
  #checkAt = 0;
  #checked = -1;

  /** If the kernel does not answer, the packet socket does while it runs. */
  constructor(self: string, kernelAnswers: (addressOnNic: AddressOnInterface) => boolean = () => true) {
    this.#self = self;
    this.#kernelAnswers = kernelAnswers;
  }

  /** An address of an earlier agent that is still in the kernel. If it is on our own link, it belongs to the first wanted interfaces. */
  adopt(addressOnNic: AddressOnInterface, validSeconds: number, now: number): void {
    const until = now + (validSeconds - 1) * 1_000;
    const phase = {
      is: "holding",
      since: new Date(),
      confirmed: true,
      refreshed: -Infinity,
      until,
      announced: ANNOUNCEMENTS,
      announceAt: now,
    } as const;
    const others = this.#ownerships.get(String(addressOnNic.address)) ?? [];
    this.#ownerships.set(String(addressOnNic.address), [...others, { ...addressOnNic, candidates: [this.#self], phase }]);
  }

  want(wanted: readonly AddressToOwn[], now: number): void {
    const before = new Map(this.#ownerships);
    this.#ownerships.clear();
    for (const { address, nics, candidates } of wanted) {
      const known = before.get(String(address)) ?? [];
      const ownerships = nics.map((nic): AddressOwnership => {
        const before =
          known.find((one) => one.nic.index === nic.index) ?? (this.#kernelAnswers({ address, nic }) ? adopted(known) : undefined);
        const phase = before?.phase ?? { is: "probing", from: now, sent: 0 };
        const elsewhere = phase.is === "holding" && before?.nic.index === nic.index && before.nic.mac !== nic.mac;
        return { address, nic, candidates, phase: elsewhere ? { ...phase, announced: 0, announceAt: now } : phase };
      });
      this.#ownerships.set(String(address), ownerships);
    }
    for (const ownership of [...before.values()].flat())
      if (ownership.phase.is === "holding" && !this.#same(ownership)) this.#leave(ownership);
  }

  step(now: number, isFiltered: (addressOnNic: AddressOnInterface) => boolean): Steps {
    const steps: Writable<Steps> = { drop: [], refresh: [], add: [], announce: [], probe: [], check: [], listened: [], relieved: [] };
    const holding: AddressOwnership[] = [];
    for (const ownerships of this.#ownerships.values()) {
      for (const ownership of ownerships) {
        if (ownership.phase.is === "holding" && now >= ownership.phase.until) this.#lose(ownership, now);
        if (ownership.phase.is === "holding") announceOwned(ownership, ownership.phase, now, steps);
        if ((ownership.phase.is === "in-use" || ownership.phase.is === "failed") && now >= ownership.phase.again)
          ownership.phase = { ...answeredBefore(ownership.phase), is: "probing", from: now, sent: 0 };
        if (ownership.phase.is === "probing") sendProbe(ownership, ownership.phase, now, steps);
        if (ownership.phase.is === "holding") holding.push(ownership);
      }
      if (isDecided(ownerships)) acquire(ownerships, now, isFiltered, steps);
    }
    // What is acquired again must not be dropped afterwards.
    for (const addressOnNic of steps.add) this.#drops.delete(dropKey(addressOnNic));
    for (const [key, addressOnNic] of this.#drops.entries().take(MOST)) {
      steps.drop.push(this.#dropOf(addressOnNic));
      this.#drops.delete(key);
    }
    refreshOwned(holding, now, steps);
    this.#check(holding, now, steps);
    return steps;
  }

  silent(addressesOnNics: readonly AddressOnInterface[], now: number): void {
    for (const { phase, ...addressOnNic } of this.#each(addressesOnNics)) {
      if (phase.is !== "listening") continue;
      // This node was paused and may have missed the answers.
      if (now - phase.from > LISTEN_MS + FRESH_MS) this.#put(addressOnNic, { ...phase, is: "probing", from: now, sent: 0 });
      else this.#put(addressOnNic, { is: "silent", found: now });
    }
  }

  /** The machine was paused: its addresses are older than its monotonic clock says, and others may have taken them. */
  aged(ms: number): void {
    for (const ownership of this.#all)
      if (ownership.phase.is === "holding") ownership.phase = { ...ownership.phase, until: ownership.phase.until - ms };
  }

  deaf(now: number): void {
    for (const ownership of this.#all) {
      if (ownership.phase.is === "listening" || ownership.phase.is === "probing")
        ownership.phase = { ...ownership.phase, is: "probing", from: now, sent: 0 };
    }
  }

  /** Probes cannot be sent. */
  unsent(device: string, text: string, now: number): void {
    for (const ownership of this.#all)
      if (ownership.nic.name === device && (ownership.phase.is === "listening" || ownership.phase.is === "probing"))
        ownership.phase = { is: "failed", message: text, again: now + AGAIN_MS };
  }

  /** Another node has released an address: one that was in use may be free. */
  hurry(now: number): void {
    for (const ownership of this.#all) if (ownership.phase.is === "in-use") ownership.phase = { ...ownership.phase, again: now };
  }

  /** The addresses that exist: missing ones are added with the next step, not with the next refresh. */
  present(found: ReadonlySet<string>): void {
    for (const ownership of this.#all)
      if (ownership.phase.is === "holding" && ownership.phase.confirmed && !found.has(String(ownership.address)))
        ownership.phase = { ...ownership.phase, refreshed: -Infinity };
  }

  /** Frames were not answered for a while. Addresses that the kernel does not answer for are probed again. */
  unanswered(now: number): void {
    for (const ownership of this.#all)
      if (ownership.phase.is === "holding" && ownership.nic.name !== DEVICE && !this.#kernelAnswers(ownership)) this.#lose(ownership, now);
  }

  /**
   * The kernel has these. A late one may belong to another machine by now, and is probed again. A new one that was added slowly is ours if
   * all frames until now are known and no other machine answered. Returns those that are owned.
   */
  kept(due: readonly Due[], now: number, heardAll = false): readonly Due[] {
    const owned: Due[] = [];
    for (const one of due) {
      const ownership = this.#same(one);
      if (ownership?.phase.is !== "holding") continue;
      const { confirmed, contested = false, refreshed } = ownership.phase;
      const isSlow = heardAll && !confirmed && !contested && now - refreshed < SLOW_MS;
      if (now < one.by || isSlow) {
        ownership.phase = { ...ownership.phase, confirmed: true };
        owned.push(one);
      } else {
        this.#lose(ownership, now);
      }
    }
    return owned;
  }

  rejected(addressOnNic: AddressOnInterface, text: string, again: number): void {
    this.#put(addressOnNic, { is: "failed", message: text, again });
  }

  /** The steps failed; the next call of `step` returns them again. */
  undone({ drop, refresh, add }: Pick<Steps, "drop" | "refresh" | "add">, now: number): void {
    for (const addressOnNic of drop) this.#leave(addressOnNic);
    for (const { by, ...addressOnNic } of refresh) {
      const ownership = this.#same(addressOnNic);
      if (ownership?.phase.is === "holding") ownership.phase = { ...ownership.phase, refreshed: -Infinity, until: by };
    }
    for (const addressOnNic of add) this.#leave(addressOnNic);
    for (const addressOnNic of add) this.#put(addressOnNic, { is: "probing", from: now, sent: 0 });
  }

  /** Another MAC answers for the address. Returns what that means here. */
  claimed(address: Address, device: string, mac: string, node: string | undefined, now: number): "nothing" | "in-use" | "kept" | "let-go" {
    const ownership = this.#at(address, device);
    if (!ownership) return "nothing";
    const { phase } = ownership;
    if (phase.is !== "holding") {
      const { rival, handover = now } = answeredBefore(phase);
      const isHandover = node !== undefined && now - handover < HANDOVER_MS;
      ownership.phase = { is: "in-use", ...(isHandover ? { handover } : { handover, rival: mac }), again: now + AGAIN_MS };
      return isHandover || rival === mac ? "nothing" : "in-use";
    }
    if (shouldRelease(this.#self, ownership.candidates, node)) {
      this.#leave(ownership);
      ownership.phase = { is: "in-use", rival: mac, again: now + AGAIN_MS };
      return "let-go";
    }
    // A conflict with another node ends in a moment; a stranger stays.
    const rival = node === undefined ? { rival: { mac, heard: now } } : {};
    const owned: OwnedPhase = { ...phase, ...rival, ...(!phase.confirmed && { contested: true }) };
    const isDefended = owned.announced === ANNOUNCEMENTS && now >= owned.announceAt + DEFEND_EVERY_MS;
    ownership.phase = isDefended ? { ...owned, announced: ANNOUNCEMENTS - 1, announceAt: now } : owned;
    return isDefended || phase.rival?.mac !== owned.rival?.mac ? "kept" : "nothing";
  }

  /** Another node probes for the address too. One of the two waits. */
  contended(address: Address, device: string, mac: string, node: string | undefined, now: number): void {
    const ownership = this.#at(address, device);
    if (ownership?.phase.is === "holding" && !ownership.phase.confirmed) ownership.phase = { ...ownership.phase, contested: true };
    if (ownership?.phase.is !== "probing" && ownership?.phase.is !== "listening") return;
    const { phase } = ownership;
    if (now < phase.from) return;
    const waits = shouldWait({ node: this.#self, mac: ownership.nic.mac }, { node, mac }, ownership.candidates);
    if (waits) ownership.phase = { ...phase, is: "probing", from: now + AGAIN_MS, sent: 0 };
    // The other may have begun after our last probe, and must receive one.
    else ownership.phase = { ...phase, is: "probing", sent: Math.min(phase.sent, PROBES - 1) };
  }

  state(address: Address): OwnershipState | undefined {
    return ownershipState(this.#ownerships.get(String(address)) ?? []);
  }

  get addressesOnNics(): readonly AddressOnInterface[] {
    return this.#all;
  }

  get #all(): AddressOwnership[] {
    return [...this.#ownerships.values()].flat();
  }

  /** With the time until which it is valid. */
  get owned(): readonly Due[] {
    return this.#all.flatMap((ownership) => (ownership.phase.is === "holding" ? [{ ...ownership, by: ownership.phase.until }] : []));
  }

  get leaving(): readonly Drop[] {
    return [...this.#drops.values()].map((addressOnNic) => this.#dropOf(addressOnNic));
  }

  due(now: number): number {
    if (this.#drops.size > 0) return now;
    let due = now + CHECK_EVERY_MS;
    for (const ownerships of this.#ownerships.values()) for (const { phase } of ownerships) due = Math.min(due, dueOf(phase, now));
    return due;
  }

  /** One per second, in turn. */
  #check(holding: readonly AddressOwnership[], now: number, steps: Writable<Steps>): void {
    if (now < this.#checkAt || holding.length === 0) return;
    this.#checkAt = now + CHECK_EVERY_MS;
    this.#checked = (this.#checked + 1) % holding.length;
    for (const ownership of holding.slice(this.#checked, this.#checked + 1)) checkOwned(ownership, now, steps);
  }

  #leave(addressOnNic: AddressOnInterface): void {
    this.#drops.set(dropKey(addressOnNic), addressOnNic);
  }

  #lose(ownership: AddressOwnership, now: number): void {
    this.#leave(ownership);
    ownership.phase = { is: "probing", from: now, sent: 0 };
  }

  #put(addressOnNic: AddressOnInterface, phase: AddressOwnership["phase"]): void {
    const ownership = this.#same(addressOnNic);
    if (ownership) ownership.phase = phase;
  }

  #each(addressesOnNics: readonly AddressOnInterface[]): AddressOwnership[] {
    return addressesOnNics.flatMap((addressOnNic) => this.#same(addressOnNic) ?? []);
  }

  #dropOf({ address, nic }: AddressOnInterface): Drop {
    const isOwned = this.#ownerships.get(String(address))?.some(({ phase }) => phase.is === "holding") === true;
    return { address, nic, isLast: !isOwned };
  }

  #same({ address, nic }: AddressOnInterface): AddressOwnership | undefined {
    return this.#ownerships.get(String(address))?.find((one) => one.nic.index === nic.index);
  }

  #at(address: Address, device: string): AddressOwnership | undefined {
    return this.#ownerships.get(String(address))?.find(({ nic }) => nic.name === device);
  }
}

/** The interfaces that were selected then are known only now. */
const adopted = (ownerships: readonly AddressOwnership[]) =>
  ownerships.find(({ nic, phase }) => nic.name === DEVICE && phase.is === "holding");

const dropKey = ({ address, nic }: AddressOnInterface) => `${String(address)} ${nic.index}`;

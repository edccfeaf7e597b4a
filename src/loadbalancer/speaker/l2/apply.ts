import type { Address } from "../../../ip/address.ts";
import type { Log } from "../../../kube/log.ts";
import { l2GratuitousSent, l2RequestsReceived, l2ResponsesSent, l2Takeovers } from "../../metrics.ts";
import type { AddressOnInterface, OwnershipState, Steps } from "./address-ownership.ts";
import type { L2Backends } from "./backends.ts";
import { addressKey, type Nic, type ObservedInterfaces } from "./interfaces.ts";
import { DEVICE } from "./ip-address-commands.ts";
import type { NftFilter } from "./nft-filter.ts";
import type { OwnedAddresses } from "./owned-addresses.ts";

const REJECTED_AGAIN_MS = 5_000;
/** The tolerated drift between the clocks without a pause. */
const SLACK_MS = 2_000;

export interface L2ApplyDeps {
  readonly ownerships: OwnedAddresses;
  readonly links: L2Backends["links"];
  readonly socket: ReturnType<L2Backends["packetSocket"]>;
  readonly filter: NftFilter;
  readonly log: Log;
  readonly observed: () => ObservedInterfaces | undefined;
  /** Whether the wanted addresses are known. */
  readonly isConfigured: () => boolean;
  /** The machine was paused, so that frames were not answered for a while. */
  readonly onPause: () => void;
  readonly onReleased: () => void;
  readonly onChange: () => void;
}

export class L2Apply {
  /** Frames may not have been answered for a while. */
  lapsed = false;
  /** The watched addresses and the filter are updated with the next run. */
  interfacesChanged = false;
  readonly #deps: L2ApplyDeps;
  readonly #pauses = new MachinePauses();

  constructor(deps: L2ApplyDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<boolean> {
    const { ownerships, socket, filter } = this.#deps;
    const pausedMs = this.#pauses.since();
    if (pausedMs > 0) {
      for (const { address, nic } of ownerships.owned) socket.mute(address, nic);
      this.#deps.onPause();
      ownerships.aged(pausedMs);
    }
    socket.renew();
    // In the same tick: nothing may come between reading the age of an address and extending its lifetime.
    const steps = ownerships.step(performance.now(), (addressOnNic) => filter.isFiltered(addressOnNic));
    const changing = this.#change(steps, signal);
    for (const { address, nic } of steps.drop) socket.mute(address, nic);
    this.#updateFilter(steps.drop);
    for (const { address, nic } of steps.probe) socket.probe(address, nic);
    for (const { address, nic } of steps.check) socket.check(address, nic);
    for (const { address, nic } of steps.announce) this.#announce(address, nic);
    if (steps.listened.length > 0) void this.#confirmSilence(steps.listened);
    await changing;
    if (steps.drop.length > 0) {
      this.interfacesChanged = true;
      this.#updateFilter([]);
      this.#deps.onReleased();
      for (const { address } of steps.drop) removeAddressMetrics(address);
    }
    return [steps.drop, steps.add, steps.probe, steps.listened, steps.relieved].some(({ length }) => length > 0);
  }

  #announce(address: Address, nic: Nic): void {
    // Its MAC may have changed.
    if (!this.lapsed) this.#deps.socket.answer(address, nic);
    this.#deps.socket.announce(address, nic);
    countGratuitous(address);
  }

  /**
   * Rules are added before an address and removed after it. Until the wanted addresses and interfaces are known, those of the earlier agent
   * stay.
   */
  #updateFilter(leaving: readonly AddressOnInterface[]): void {
    if (!this.interfacesChanged || !this.#deps.isConfigured()) return;
    this.interfacesChanged = false;
    const { addressesOnNics } = this.#deps.ownerships;
    this.#deps.socket.watch(addressesOnNics.map(({ address }) => address));
    this.#deps.filter.want([...addressesOnNics, ...leaving], this.#deps.observed()?.ipvs ?? new Set());
  }

  async #confirmSilence(addressesOnNics: readonly AddressOnInterface[]): Promise<void> {
    const { ownerships, socket } = this.#deps;
    const synced = await socket.sync();
    for (const { address, nic } of addressesOnNics) socket.leave(address, nic);
    if (synced) ownerships.silent(addressesOnNics, performance.now());
    else ownerships.deaf(performance.now());
    this.#deps.onChange();
  }

  async #change(steps: Steps, signal: AbortSignal): Promise<void> {
    const { drop, refresh, add } = steps;
    if (drop.length + refresh.length + add.length === 0) return;
    const { ownerships, links, socket, log } = this.#deps;
    const rejected = await links.carryOut(steps, signal).catch((error: unknown) => {
      ownerships.undone(steps, performance.now());
      throw error;
    });
    const now = performance.now();
    const accepted = [...refresh, ...add].filter((due) => !rejected.has(due));
    const heardAll = accepted.some(({ by }) => now >= by) && (await socket.sync());
    const owned = ownerships.kept(accepted, now, heardAll);
    for (const [addressOnNic, message] of rejected) {
      ownerships.rejected(addressOnNic, message, now + REJECTED_AGAIN_MS);
      socket.mute(addressOnNic.address, addressOnNic.nic);
    }
    await this.#answer(owned, signal);
    const taken = new Set(add).intersection(new Set(owned));
    for (const { address, nic } of taken)
      log.info({ address: String(address), interface: nic.name }, "address acquired: no duplicate found");
    l2Takeovers.inc(taken.size);
    if (add.length + rejected.size > 0) this.#deps.onChange();
  }

  async #answer(owned: readonly AddressOnInterface[], signal: AbortSignal): Promise<void> {
    if (this.lapsed) return;
    const { socket, links } = this.#deps;
    const onInterfaces = owned.filter(({ nic }) => nic.name !== DEVICE);
    for (const { address, nic } of onInterfaces) socket.answer(address, nic);
    // The socket answers before the addresses that earlier versions put on the interfaces are removed.
    const old = onInterfaces.filter((addressOnNic) => this.#deps.observed()?.onNics.has(addressKey(addressOnNic)) === true);
    if (old.length > 0 && (await socket.sync())) await links.takeOffNics(old, signal);
  }
}

/** Detects a paused VM or a sleeping machine: the wall clock continues, the monotonic clock and all timers do not. */
class MachinePauses {
  #ahead = aheadMs();

  /** A clock that is set forward looks the same; one that is set back is no pause. */
  since(): number {
    const before = this.#ahead;
    this.#ahead = aheadMs();
    const pausedMs = this.#ahead - before;
    return pausedMs > SLACK_MS ? pausedMs : 0;
  }
}

/** By how much the wall clock is ahead of the monotonic one. */
function aheadMs(): number {
  return Date.now() - performance.now();
}

/** ARP or NDP requests for an owned address, which the kernel answers. */
export function countRequest(address: Address, state: OwnershipState | undefined, device: string, times: number): void {
  if (state?.is !== "holding" || !state.interfaces.includes(device)) return;
  for (const metric of [l2RequestsReceived, l2ResponsesSent]) metric.inc({ ip: String(address) }, times);
}

export function countGratuitous(address: Address): void {
  l2GratuitousSent.inc({ ip: String(address) });
}

/** Another node has the address now. */
export function removeAddressMetrics(address: Address): void {
  for (const metric of [l2RequestsReceived, l2ResponsesSent, l2GratuitousSent]) metric.remove({ ip: String(address) });
}

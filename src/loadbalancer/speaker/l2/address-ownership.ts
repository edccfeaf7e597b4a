import type { Address } from "../../../ip/address.ts";
import type { Nic } from "./interfaces.ts";

export interface AddressOnInterface {
  readonly address: Address;
  readonly nic: Nic;
}

/** An address that this node is elected for, and its interfaces. */
export interface AddressToOwn {
  readonly address: Address;
  readonly nics: readonly Nic[];
  readonly candidates: readonly string[];
}

/** Must be in the kernel by then; after that it must be probed again. */
export interface Due extends AddressOnInterface {
  readonly by: number;
}

/** The address stays in the kernel while another interface has it. */
export interface Drop extends AddressOnInterface {
  readonly isLast: boolean;
}

/** Executed in this order. */
export interface Steps {
  readonly drop: readonly Drop[];
  readonly refresh: readonly Due[];
  readonly add: readonly Due[];
  readonly announce: readonly AddressOnInterface[];
  /** Whether another machine has a wanted address. */
  readonly probe: readonly AddressOnInterface[];
  /** Whether another machine has an owned address. */
  readonly check: readonly AddressOnInterface[];
  /** Call `silent` when everything received until now is known. */
  readonly listened: readonly AddressOnInterface[];
  /** Owned addresses that another machine no longer answers for. */
  readonly relieved: readonly AddressOnInterface[];
}

/** Another machine that answers for an address of this node. */
interface Rival {
  readonly mac: string;
  readonly interface: string;
}

export type OwnershipState =
  | { readonly is: "holding"; readonly since: Date; readonly interfaces: readonly string[]; readonly rival?: Rival }
  | { readonly is: "probing" }
  | { readonly is: "in-use"; readonly mac: string; readonly interface: string }
  | { readonly is: "failed"; readonly message: string };

export interface OwnedPhase {
  readonly is: "holding";
  readonly since: Date;
  /** The kernel has added it. */
  readonly confirmed: boolean;
  /** Before that, another machine probed or answered for it. */
  readonly contested?: true;
  /** Another machine answers for it too, last at that time. */
  readonly rival?: { readonly mac: string; readonly heard: number };
  /** The times of the last two checks for duplicates. */
  readonly checks?: readonly [number, number];
  readonly refreshed: number;
  /** From then on the kernel may have dropped it. */
  readonly until: number;
  readonly announced: number;
  readonly announceAt: number;
}

export interface ProbingPhase {
  readonly is: "probing" | "listening";
  /** The time of the first probe; may be in the future. */
  readonly from: number;
  readonly sent: number;
  /** The MAC that answered the last probe. */
  readonly rival?: string;
  readonly handover?: number;
}

type Phase =
  | ProbingPhase
  | { readonly is: "silent"; readonly found: number }
  /** `handover`: another node has answered since then, and releases the address in a moment. Else the MAC of who does. */
  | { readonly is: "in-use"; readonly rival?: string; readonly handover?: number; readonly again: number }
  | { readonly is: "failed"; readonly message: string; readonly again: number }
  | OwnedPhase;

export interface AddressOwnership extends AddressOnInterface {
  readonly candidates: readonly string[];
  phase: Phase;
}

/** Who answered for an address that is not ours. */
export function answeredBefore(phase: Phase): { rival?: string; handover?: number } {
  if (phase.is !== "in-use" && phase.is !== "probing" && phase.is !== "listening") return {};
  const { rival, handover } = phase;
  return { ...(rival !== undefined && { rival }), ...(handover !== undefined && { handover }) };
}

export function ownershipState(ownerships: readonly AddressOwnership[]): OwnershipState | undefined {
  const holding = ownerships.flatMap(({ nic, phase }) => (phase.is === "holding" && phase.confirmed ? [{ nic, phase }] : []));
  const [first] = holding;
  if (first) {
    const [rival] = holding.flatMap(({ nic, phase }) => (phase.rival ? [{ mac: phase.rival.mac, interface: nic.name }] : []));
    const interfaces = holding.map(({ nic }) => nic.name).toSorted();
    return { is: "holding", since: first.phase.since, interfaces, ...(rival && { rival }) };
  }
  for (const { nic, phase } of ownerships)
    if (phase.is !== "holding" && "rival" in phase && phase.rival !== undefined)
      return { is: "in-use", mac: phase.rival, interface: nic.name };
  for (const { phase } of ownerships) if (phase.is === "failed") return { is: "failed", message: phase.message };
  return ownerships.length === 0 ? undefined : { is: "probing" };
}

import type { Address } from "../../../ip/address.ts";
import type { Nic } from "./interfaces.ts";

/** One address on one interface. */
export interface AddressOnInterface {
  readonly address: Address;
  readonly nic: Nic;
}

/** An address that this node is elected for, and where it belongs. */
export interface AddressToOwn {
  readonly address: Address;
  readonly nics: readonly Nic[];
  readonly candidates: readonly string[];
}

/** To be in the kernel by then; after that it must be probed for again. */
export interface Due extends AddressOnInterface {
  readonly by: number;
}

/** What another interface still holds stays in the kernel. */
export interface Drop extends AddressOnInterface {
  readonly isLast: boolean;
}

/** What is to be done now, in this order. */
export interface Steps {
  readonly drop: readonly Drop[];
  readonly refresh: readonly Due[];
  readonly add: readonly Due[];
  readonly announce: readonly AddressOnInterface[];
  /** Whether anybody has what we want. */
  readonly probe: readonly AddressOnInterface[];
  /** Whether anybody else has what we hold. */
  readonly check: readonly AddressOnInterface[];
  /** Their probes have gone out: once everything received until now is known, call `silent`. */
  readonly listened: readonly AddressOnInterface[];
  /** What we hold and another answered for too, until now. */
  readonly relieved: readonly AddressOnInterface[];
}

/** Another machine that answers for an address of this node and keeps it. */
interface Rival {
  readonly mac: string;
  readonly interface: string;
}

/** The state of an address on this node. */
export type OwnershipState =
  | { readonly is: "holding"; readonly since: Date; readonly interfaces: readonly string[]; readonly rival?: Rival }
  | { readonly is: "probing" }
  | { readonly is: "in-use"; readonly mac: string; readonly interface: string }
  | { readonly is: "failed"; readonly message: string };

export interface OwnedPhase {
  readonly is: "holding";
  readonly since: Date;
  /** The kernel has accepted it. */
  readonly confirmed: boolean;
  /** Before it did, another machine probed or answered for the address. */
  readonly contested?: true;
  /** Another machine answers for it too; last heard at that time. */
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
  /** When the first probe goes out; may lie ahead. */
  readonly from: number;
  readonly sent: number;
  /** The MAC that had it when it was last probed for. */
  readonly rival?: string;
}

type Phase =
  | ProbingPhase
  | { readonly is: "silent"; readonly found: number }
  | { readonly is: "in-use"; readonly rival: string; readonly again: number }
  | { readonly is: "failed"; readonly message: string; readonly again: number }
  | OwnedPhase;

export interface AddressOwnership extends AddressOnInterface {
  readonly candidates: readonly string[];
  phase: Phase;
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

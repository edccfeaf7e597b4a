import { KernelError } from "../../../hostnet/error.ts";
import type { Address, Family } from "../../../ip/address.ts";
import { backoffMs } from "../../../util/backoff.ts";
import type { Log } from "../../../kube/log.ts";
import { l2NftFailures } from "../../metrics.ts";
import { WakeSignal } from "../../../util/wake-signal.ts";
import { changedElements, fullTable, type NftFamily, type Sets } from "./nft-rules.ts";
import type { AddressOnInterface } from "./address-ownership.ts";

const FAMILIES = ["inet", "arp"] as const;
/** Other programs flush all rules at times. */
const REWRITE_EVERY_MS = 60_000;
const REJECTED = { minMs: 1_000, maxMs: 60_000 };
const LOSES: Readonly<Record<NftFamily, string>> = {
  inet: "the node's own services are reachable at service addresses",
  arp: "interfaces that are not selected answer ARP for service addresses",
};

export type FilterState = { readonly is: "on" } | { readonly is: "off"; readonly why: string };

export interface NftFilterOptions {
  /** Atomic; throws a KernelError. */
  readonly nft: (text: string, signal: AbortSignal) => Promise<void>;
  /** Ports or ranges that accept untranslated packets. */
  readonly exemptPorts: readonly string[];
  /** Rules are in place, or are known to be impossible. */
  readonly onApplied: () => void;
  readonly log: Log;
}

interface Table {
  have: Sets | undefined;
  want: Sets;
  off: string | undefined;
}

/** The nftables tables `plumbline`. An address is added to a link only after its rules, unless they are impossible. */
export class NftFilter {
  readonly #options: NftFilterOptions;
  readonly #tables: Readonly<Record<NftFamily, Table>>;
  #ipvs: readonly string[] = [];
  readonly #wakeSignal = new WakeSignal();

  constructor(options: NftFilterOptions) {
    this.#options = options;
    this.#tables = { inet: emptyTable(), arp: emptyTable() };
  }

  /** IPVS traffic arrives untranslated, so packets to its addresses must pass. */
  want(addressesOnNics: readonly AddressOnInterface[], ipvs: ReadonlySet<string>): void {
    const addresses = new Map(addressesOnNics.map(({ address }) => [String(address), address]));
    const dropped = [...addresses.values()].filter((address) => !ipvs.has(String(address)));
    this.#tables.inet.want = new Map([
      ["ipv4", texts(dropped, 4)],
      ["ipv6", texts(dropped, 6)],
      ["exempt", new Set(this.#options.exemptPorts)],
    ]);
    const ipv4 = addressesOnNics.filter(({ address }) => address.family === 4);
    this.#tables.arp.want = new Map([
      ["addresses", new Set(ipv4.map(({ address }) => String(address)))],
      ["selected", new Set(ipv4.map(({ address, nic }) => selected(address, nic.name)))],
    ]);
    this.#ipvs = [...addresses.keys()].filter((text) => ipvs.has(text));
    if (FAMILIES.some((family) => this.#differs(family))) this.#wakeSignal.ring();
  }

  /** Whether its rules are in place, or are known to be impossible. */
  isFiltered({ address, nic }: AddressOnInterface): boolean {
    const { inet, arp } = this.#tables;
    const packets = address.family === 4 ? "ipv4" : "ipv6";
    return (
      has(inet, packets, String(address)) && has(arp, "addresses", String(address)) && has(arp, "selected", selected(address, nic.name))
    );
  }

  get protection(): FilterState {
    const failed = FAMILIES.flatMap((family) => {
      const { off } = this.#tables[family];
      return off === undefined ? [] : [`nftables family ${family}: ${off}; ${LOSES[family]}`];
    });
    const served = this.#ipvs.length === 0 ? [] : [`${this.#ipvs.toSorted().join(", ")} on kube-ipvs0 is served by IPVS and not filtered`];
    const why = [...failed, ...served].join(". ");
    return why === "" ? { is: "on" } : { is: "off", why };
  }

  async run(signal: AbortSignal): Promise<void> {
    let isRewrite = false;
    let rewriteAt = performance.now() + REWRITE_EVERY_MS;
    let failures = 0;
    while (!signal.aborted) {
      for (const family of FAMILIES) await this.#apply(family, isRewrite, signal);
      if (signal.aborted) return;
      this.#options.onApplied();
      failures = FAMILIES.some((family) => this.#tables[family].off !== undefined) ? failures + 1 : 0;
      if (isRewrite) rewriteAt = performance.now() + REWRITE_EVERY_MS;
      const restMs = failures === 0 ? Math.max(0, rewriteAt - performance.now()) : backoffMs(failures, REJECTED);
      const isRung = await this.#wakeSignal.wait(restMs, signal);
      isRewrite = !isRung || performance.now() >= rewriteAt;
    }
  }

  #differs(family: NftFamily): boolean {
    const { have, want } = this.#tables[family];
    return have ? changedElements(family, have, want) !== "" : hasAddresses(want);
  }

  async #apply(family: NftFamily, isRewrite: boolean, signal: AbortSignal): Promise<void> {
    const table = this.#tables[family];
    const { have, want, off } = table;
    // Without any address there is no table.
    if (!have && !hasAddresses(want)) return;
    // A rejected table is retried with backoff, not with each address.
    if (!isRewrite && (off !== undefined || !this.#differs(family))) return;
    const text = have && !isRewrite ? changedElements(family, have, want) : fullTable(family, want);
    try {
      await this.#options.nft(text, signal);
      table.have = want;
      table.off = undefined;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof KernelError)) throw error;
      l2NftFailures.inc({ family });
      table.have = undefined;
      // The table may have been deleted; it is off only if it cannot be restored.
      if (have && !isRewrite) return this.#apply(family, true, signal);
      if (table.off !== error.text) this.#options.log.warn({ family, error }, "service addresses are not protected");
      table.off = error.text;
    }
  }
}

const hasAddresses = (want: Sets) => [...want].some(([name, elements]) => name !== "exempt" && elements.size > 0);

const emptyTable = (): Table => ({ have: undefined, want: new Map<string, ReadonlySet<string>>(), off: undefined });

const has = ({ have, want, off }: Table, set: string, element: string): boolean =>
  off !== undefined || want.get(set)?.has(element) !== true || have?.get(set)?.has(element) === true;

const texts = (addresses: readonly Address[], family: Family) =>
  new Set(addresses.filter((address) => address.family === family).map(String));

const selected = (address: Address, device: string) => `"${device}" . ${String(address)}`;

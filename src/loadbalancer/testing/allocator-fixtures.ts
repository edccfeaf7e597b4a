import type { LabelSelector } from "../../api/core/label-selector.ts";
import { parseAddress, type Address } from "../../ip/address.ts";
import { parseMaskedPrefix } from "../../ip/prefix.ts";
import { parseRange } from "../../ip/range.ts";
import type { Pool } from "../config/config.ts";
import type { Sharing, AddressRequest } from "../services/address-request.ts";
import { Allocator, type Allocation, type NoAddress } from "../allocator/allocator.ts";

// Pools and Services for tests: valid unless a test sets a field.

export interface PoolTerms {
  readonly priority?: number;
  readonly namespaces?: readonly string[];
  readonly serviceSelectors?: readonly LabelSelector[];
  readonly autoAssign?: boolean;
  readonly avoidBuggyIPs?: boolean;
}

export function pool(name: string, addresses: readonly string[], terms: PoolTerms = {}): Pool {
  const { priority, namespaces, serviceSelectors, autoAssign = true, avoidBuggyIPs = false } = terms;
  const allocation = {
    priority: priority ?? Infinity,
    ...(namespaces && { namespaces: new Set(namespaces) }),
    serviceSelectors: serviceSelectors ?? [],
  };
  return {
    name,
    generation: 1,
    labels: {},
    ranges: addresses.map((text) => (text.includes("-") ? parseRange(text) : parseMaskedPrefix(text))),
    autoAssign,
    avoidBuggyIPs,
    ...((priority ?? namespaces ?? serviceSelectors) !== undefined && { allocation }),
  };
}

export interface RequestTerms extends Partial<Omit<AddressRequest, "addresses" | "pool" | "sharing">> {
  /** The second of a minute in which it was created. */
  readonly second?: number;
  readonly addresses?: readonly Address[] | undefined;
  readonly pool?: string | undefined;
  readonly sharing?: Partial<Sharing>;
}

export function addressRequest(name: string, { second = 0, sharing, addresses, pool, ...terms }: RequestTerms = {}): AddressRequest {
  const namespace = terms.namespace ?? "default";
  return {
    key: `${namespace}/${name}`,
    uid: name,
    since: Date.UTC(2026, 0, 1, 0, 0, second),
    namespace,
    labels: {},
    families: [4],
    policy: "SingleStack",
    ...terms,
    ...(addresses && { addresses }),
    ...(pool !== undefined && { pool }),
    sharing: { key: "", backend: "", ports: ["TCP/80"], ...sharing },
  };
}

export const dual = { families: [4, 6], policy: "RequireDualStack" } as const;
export const preferDual = { families: [4, 6], policy: "PreferDualStack" } as const;

export function addresses(...texts: readonly string[]): Address[] {
  return texts.map(parseAddress);
}

/** `a: 10.0.0.1 fc00::1`, or why not. */
export function outcomeText(outcome: Allocation | NoAddress | undefined): string {
  if (outcome === undefined) return "nothing";
  return "noAddress" in outcome ? outcome.noAddress : `${outcome.pool}: ${outcome.addresses.join(" ")}`;
}

/** An allocator that notes whom it wakes; `woken()` gives those of since it was last asked. */
export function allocatorWith(...pools: readonly Pool[]): { allocator: Allocator; woken: () => string[] } {
  let noted: string[] = [];
  const allocator = new Allocator({ onWake: (key) => void noted.push(key) });
  allocator.setPools(pools, new Set());
  const woken = () => {
    const since = noted;
    noted = [];
    return since;
  };
  return { allocator, woken };
}

import { selects } from "../../api/core/label-selector.ts";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { IpError, quote } from "../../ip/error.ts";
import { parseMaskedPrefix, parsePrefix, Prefix } from "../../ip/prefix.ts";
import { parseRange, Range } from "../../ip/range.ts";
import { type Claim, ClaimRecord } from "../../resilience/claim.ts";
import type { Pool } from "./config.ts";
import type { Labeled } from "./objects.ts";
import { type ConfigProblem, configProblemIf, type ParseResult, parseResult, repeated, type ResourceVersion } from "./field-error.ts";
import { selectorConfigProblems } from "./selectors.ts";
import { IntervalSet } from "../../ip/interval-set.ts";
import type { LastGoodConfig, LastGoodEntry } from "./load.ts";

type Spec = IPAddressPool["spec"];

export function readPool({ name, generation, labels, spec }: ResourceVersion<Spec>, namespaces: readonly Labeled[]): ParseResult<Pool> {
  const { entries, ranges, claims } = addressesOf(spec);
  const prefix = `parsing address pool ${name}: `;
  const problems: ConfigProblem[] = [
    ...configProblemIf(name === "", "A1", "metadata.name", () => `${prefix}missing pool name`),
    ...configProblemIf(entries.length === 0, "A1", "spec.addresses", () => `${prefix}pool has no prefixes defined`),
    ...entries.flatMap(({ field, text, problem }) =>
      configProblemIf(problem !== undefined, "A2", field, () => `${prefix}invalid CIDR ${quote(text)} in pool ${quote(name)}: ${problem}`),
    ),
    ...allocationProblems(name, spec.serviceAllocation, prefix),
    ...overlapsWithin(name, entries),
  ];
  const pool = (): Pool => {
    const allocation = allocationOf(spec.serviceAllocation, namespaces);
    return {
      name,
      generation,
      labels,
      ranges,
      autoAssign: spec.autoAssign ?? true,
      avoidBuggyIPs: spec.avoidBuggyIPs ?? false,
      ...(allocation && { allocation }),
    };
  };
  return parseResult(problems, pool, claims);
}

interface Entry {
  readonly field: string;
  readonly text: string;
  readonly range?: Range;
  readonly problem?: string;
}

interface Addresses {
  readonly entries: readonly Entry[];
  /** The parts that Services can use. */
  readonly ranges: readonly Range[];
  readonly claims: readonly Claim[];
}

/** Unchanged specs are parsed once, also if there are ten thousand pools. */
const known = new WeakMap<Partial<Spec>, Addresses>();

function addressesOf(spec: Partial<Spec>): Addresses {
  const before = known.get(spec);
  if (before) return before;
  const read = readAddresses(spec);
  known.set(spec, read);
  return read;
}

function readAddresses({ addresses = [] }: Partial<Spec>): Addresses {
  const ranges: Range[] = [];
  const entries = addresses.map((text, nth): Entry => {
    const field = `spec.addresses[${nth}]`;
    try {
      const range = parseEntry(text);
      const parts = usable(range);
      ranges.push(...parts);
      return parts.length > 0 ? { field, text, range } : { field, text, problem: "these addresses are not usable for Services" };
    } catch (error) {
      if (!(error instanceof IpError)) throw error;
      return { field, text, problem: error.reason };
    }
  });
  const claims = entries.flatMap(({ field, range }) => (range ? [{ key: "range", range, field, subject: range.toString() }] : []));
  return { entries, ranges, claims };
}

function parseEntry(text: string): Range {
  return unmapped(text.includes("-") ? parseRange(text) : parseMaskedPrefix(text));
}

/** An IPv4-mapped IPv6 range is an IPv4 range, as in MetalLB. */
function unmapped(range: Range): Range {
  const [first, last] = [range.first.mappedIPv4, range.last.mappedIPv4];
  if (!first || !last) return range;
  return range instanceof Prefix ? new Prefix(first, range.length - 96) : new Range(first, last);
}

/** Unspecified, multicast and loopback addresses: a node that announced one would cut itself off. */
const NO_SERVICES = ["0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/127", "ff00::/8"].map(parsePrefix);

function usable(range: Range): Range[] {
  return NO_SERVICES.reduce<Range[]>((parts, hole) => parts.flatMap((part) => part.minus(hole)), [range]);
}

/** An invalid pool has no claims, so that no range is recorded that it never had. */
export function poolClaims(name: string, spec: Spec): readonly Claim[] {
  const { problems, claims } = readPool({ name, namespace: "", generation: 0, created: new Date(0), labels: {}, spec }, []);
  return problems.length > 0 ? [] : claims;
}

export function overlap(name: string, cidr: string, defined: string): string {
  return `CIDR ${quote(cidr)} in pool ${quote(name)} overlaps with already defined CIDR ${quote(defined)}`;
}

/** Sweeps over the addresses. Of two overlapping entries, the later one in the list is the problem. */
function overlapsWithin(name: string, entries: readonly Entry[]): ConfigProblem[] {
  const found = new Map<string, ConfigProblem>();
  const positions = new Map(entries.map((entry, nth) => [entry, nth]));
  const sorted = entries.filter((entry): entry is Entry & { range: Range } => entry.range !== undefined);
  sorted.sort((a, b) => a.range.compare(b.range) || (positions.get(a) ?? 0) - (positions.get(b) ?? 0));
  let reach = sorted[0];
  for (const entry of sorted.slice(1)) {
    if (reach?.range.overlaps(entry.range)) {
      const [first, second] = (positions.get(reach) ?? 0) < (positions.get(entry) ?? 0) ? [reach, entry] : [entry, reach];
      const { field } = second;
      found.set(field, { rule: "A5", field, message: overlap(name, second.range.toString(), first.range.toString()) });
    }
    if (!reach || entry.range.last.compare(reach.range.last) > 0) reach = entry;
  }
  return [...found.values()];
}

function allocationProblems(name: string, allocation: Spec["serviceAllocation"], prefix: string): ConfigProblem[] {
  if (!allocation) return [];
  const field = "spec.serviceAllocation";
  const selectors = (which: "namespaceSelectors" | "serviceSelectors", what: string) =>
    selectorConfigProblems(allocation[which], {
      field: `${field}.${which}`,
      duplicate: "A3",
      malformed: "A3",
      prefix,
      context: (selector) => `invalid ${what} label selector ${quote(selector)} in ip pool ${name}`,
    });
  return [
    ...repeated(allocation.namespaces ?? []).map(({ nth }): ConfigProblem => ({
      rule: "A3",
      field: `${field}.namespaces[${nth}]`,
      message: `${prefix}duplicate definition in namespaces field`,
    })),
    ...selectors("namespaceSelectors", "namespace"),
    ...selectors("serviceSelectors", "service"),
  ];
}

function allocationOf(allocation: Spec["serviceAllocation"], known: readonly Labeled[]): Pool["allocation"] {
  if (!allocation) return undefined;
  const { priority, namespaces = [], namespaceSelectors = [], serviceSelectors = [] } = allocation;
  const anywhere = namespaces.length === 0 && namespaceSelectors.length === 0;
  const selected =
    namespaceSelectors.length === 0 ? [] : known.filter(({ labels }) => namespaceSelectors.some((one) => selects(one, labels)));
  return {
    priority: priority || Infinity,
    ...(!anywhere && { namespaces: new Set([...namespaces, ...selected.map(({ name }) => name)]) }),
    serviceSelectors,
  };
}

/**
 * Adds last good versions for pools without one, from their recorded claims: a new leader or node has only those. The ranges are those that the pool
 * owned, the rest is as it is written now.
 */
export function withRecordedPools(lastGood: LastGoodConfig, pools: readonly IPAddressPool[]): LastGoodConfig {
  const missing = pools.filter((pool) => !isRemembered(lastGood, pool) && mayHaveBeenGood(pool));
  if (missing.length === 0) return lastGood;
  const allClaims = new ClaimRecord(pools.flatMap(({ status }) => status?.claims ?? []));
  return new Map([...lastGood, ...missing.flatMap((pool) => fromRecord(pool, allClaims))]);
}

function isRemembered(lastGood: LastGoodConfig, { metadata: { name, uid = "" } }: IPAddressPool): boolean {
  return lastGood.get(`IPAddressPool/${name}`)?.uid === uid;
}

/** A pool that never had a valid version has Exhausted Unknown. */
function mayHaveBeenGood({ status: { claims = [], conditions = [] } = {} }: IPAddressPool): boolean {
  return claims.length > 0 && !conditions.some(({ type, status }) => type === "Exhausted" && status === "Unknown");
}

function fromRecord({ metadata: { name, uid = "" }, spec, status }: IPAddressPool, allClaims: ClaimRecord): [string, LastGoodEntry][] {
  const recorded = new ClaimRecord(status?.claims ?? []).parts.get("range") ?? [];
  // A version that claimed a range of another pool was never effective, nor anything first claimed in it.
  const lost = new Set(
    recorded.filter(({ range, since }) => (allClaims.oldestPart("range", range) ?? since) < since).map(({ since }) => since),
  );
  const owned = recorded.filter(({ since }) => !lost.has(since)).map(({ range }) => range);
  const addresses = Array.from(new IntervalSet(owned), String);
  return addresses.length === 0 ? [] : [[`IPAddressPool/${name}`, { uid, generation: 0, spec: { spec: { ...spec, addresses } } }]];
}

import type { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { quote } from "../../ip/error.ts";
import type { BgpAd } from "./config.ts";
import { parseCommunity } from "./communities.ts";
import { type ConfigProblem, configProblemIf, type ParseResult, parseResult, type ResourceVersion } from "./field-error.ts";
import { duplicates, type PoolSelection, selectionProblems } from "./selections.ts";

type Spec = BGPAdvertisement["spec"];

interface AdContext {
  readonly pools: PoolSelection;
  readonly aliases: ReadonlyMap<string, string>;
}

/** Every address by itself. */
const WHOLE = { aggregationLength: 32, aggregationLengthV6: 128 };

/** What the last good version of an advertisement resolved. */
export interface AdResolved {
  /** The values of its aliases. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Pools that became incompatible later, and were left out. */
  readonly without?: readonly string[];
}

export function readBgpAd(
  { name, generation, created, spec: written }: ResourceVersion<Spec>,
  context: AdContext,
  lastResolved?: AdResolved,
): ParseResult<BgpAd> {
  const spec = { ...WHOLE, ...written };
  const communities = readCommunities(spec.communities ?? [], context.aliases, lastResolved?.aliases ?? {});
  const problems: ConfigProblem[] = [
    ...selectionProblems(name, spec, "G2"),
    ...duplicates(spec.communities, "spec.communities", "community", "G2"),
    ...duplicates(spec.peers, "spec.peers", "peers", "G2"),
    ...lengthProblems(name, spec),
    ...communities.problems,
    ...tooMany(communities.values),
  ];
  const { aggregationLength, aggregationLengthV6, localPref = 0, peers = [] } = spec;
  const read = parseResult<BgpAd>(problems, () => ({
    name,
    generation,
    created: created.getTime(),
    pools: context.pools.select(spec),
    nodeSelectors: spec.nodeSelectors ?? [],
    serviceSelectors: spec.serviceSelectors ?? [],
    aggregationLength,
    aggregationLengthV6,
    ...(localPref !== 0 && { localPref }),
    communities: distinct(communities.values),
    ...(peers.length > 0 && { peers: new Set(peers) }),
  }));
  return read.value ? { ...read, resolved: { aliases: communities.aliases } satisfies AdResolved } : read;
}

function lengthProblems(name: string, spec: Spec): ConfigProblem[] {
  const { aggregationLength: v4, aggregationLengthV6: v6, localPref = 0 } = spec;
  const some = (spec.serviceSelectors ?? []).length > 0;
  const exclusive = (field: string) => `serviceSelectors and ${field} are mutually exclusive, both cannot be set in ${name}`;
  return [
    ...configProblemIf(some && v4 !== 32, "G3", "spec.aggregationLength", () => exclusive("aggregationLength")),
    ...configProblemIf(some && v6 !== 128, "G3", "spec.aggregationLengthV6", () => exclusive("aggregationLengthV6")),
    ...configProblemIf(!isWhole(v4, 1, 32), "G4", "spec.aggregationLength", () => `invalid aggregation length ${v4} for IPv4`),
    ...configProblemIf(!isWhole(v6, 0, 128), "G4", "spec.aggregationLengthV6", () => `invalid aggregation length ${v6} for IPv6`),
    ...configProblemIf(!isWhole(localPref, 0, 4_294_967_295), "G4", "spec.localPref", () => `invalid local preference ${localPref}`),
  ];
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

/** More do not fit into one UPDATE. */
export const MOST_COMMUNITIES = 63;

function tooMany(values: readonly string[]): ConfigProblem[] {
  const { length } = distinct(values);
  const message = () => `too many communities in BGP advertisement: ${length}, at most ${MOST_COMMUNITIES} per prefix`;
  return configProblemIf(length > MOST_COMMUNITIES, "G5", "spec.communities", message);
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}

interface Communities {
  readonly problems: ConfigProblem[];
  readonly values: string[];
  readonly aliases: Record<string, string>;
}

function readCommunities(
  texts: readonly string[],
  aliases: ReadonlyMap<string, string>,
  lastResolved: Readonly<Record<string, string>>,
): Communities {
  const found: Communities = { problems: [], values: [], aliases: {} };
  for (const [nth, text] of texts.entries()) {
    const alias = aliases.get(text) ?? (Object.hasOwn(lastResolved, text) ? lastResolved[text] : undefined);
    if (alias !== undefined) {
      found.values.push(alias);
      // defineProperty, because an alias may be __proto__.
      Object.defineProperty(found.aliases, text, { value: alias, enumerable: true, configurable: true, writable: true });
      continue;
    }
    const read = parseCommunity(text);
    if ("value" in read) {
      found.values.push(read.value);
      continue;
    }
    // With a colon it cannot be a missing alias.
    const rule = read.is === "format" && !text.includes(":") ? "T3" : "G5";
    const message = `${read.problem}\ninvalid community ${quote(text)} in BGP advertisement`;
    found.problems.push({ rule, field: `spec.communities[${nth}]`, message });
  }
  return found;
}

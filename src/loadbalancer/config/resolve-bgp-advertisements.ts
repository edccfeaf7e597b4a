import { isDeepStrictEqual } from "node:util";
import type { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { compare } from "../../util/compare.ts";
import type { BgpAd, Config } from "./config.ts";
import type { Loaded, LastGoodEntry } from "./load.ts";
import type { AdResolved } from "./bgp-advertisements.ts";
import type { ConfigProblem } from "./field-error.ts";
import type { ConfigCandidate } from "./candidates.ts";
import { resolveKind, type Resolved, failureOf } from "./resolve.ts";
import type { NodeGroups } from "./node-groups.ts";
import { PoolLengths } from "./pool-lengths.ts";

type Spec = BGPAdvertisement["spec"];
type AdCandidate = ConfigCandidate<Spec, BgpAd>;

/** How many pool entries are reported per advertisement. */
const NAMED = 16;

/** What advertisements are checked against. */
interface EffectiveConfig extends Pick<Config, "pools" | "peers" | "bfdProfiles"> {
  readonly groups: NodeGroups;
  /** The previous pools, by name. */
  readonly poolsBefore: ReadonlySet<string>;
}

/** An advertisement that is to be in effect. */
interface EffectiveAd {
  readonly candidate: AdCandidate;
  readonly version: "current" | "kept";
  readonly ad: BgpAd;
  readonly left: readonly string[];
}

/**
 * Decides which advertisements are effective, and for which pools. One that is incompatible with a pool keeps its last good version; pools that are
 * still incompatible are left out, unless they were announced before.
 */
export function decideBgpAds(candidates: readonly AdCandidate[], effective: EffectiveConfig, now: Date): Resolved<Spec, BgpAd> {
  const alone = resolveKind(candidates, now);
  const checks = new CrossChecks(effective);
  const problems = new Map<AdCandidate, readonly ConfigProblem[]>();
  const running: EffectiveAd[] = [];
  for (const candidate of candidates) {
    const { value: current } = candidate.spec;
    const kept = candidate.lastGood?.spec.value;
    const found = current ? checks.problemsOf(current) : [];
    if (found.length > 0) problems.set(candidate, found);
    if (current && (found.length === 0 || !kept)) running.push({ candidate, version: "current", ...checks.fitting(candidate, current) });
    else if (kept) running.push({ candidate, version: "kept", ...checks.fitting(candidate, kept) });
  }

  const accepted = checks.withoutPreferenceConflicts(running, problems);
  const byKey = new Map(accepted.map((one) => [one.candidate.key, one]));
  const faulty = new Set([...problems.keys()].map(({ key }) => key));
  return {
    values: new Map(
      accepted
        .filter(({ candidate, ad }) => ad.pools.size > 0 || !problems.has(candidate))
        .toSorted((a, b) => compare(a.ad.name, b.ad.name))
        .map(({ ad }) => [ad.name, ad]),
    ),
    current: new Set(
      accepted.filter(({ candidate, version }) => version === "current" && !problems.has(candidate)).map(({ candidate }) => candidate),
    ),
    failures: [...alone.failures, ...[...problems].flatMap(([candidate, found]) => found.map((problem) => failureOf(candidate, problem)))],
    resources: alone.resources.map((resource) => {
      const key = `${resource.kind}/${resource.name}`;
      return faulty.has(key) ? { ...resource, state: stateOf(byKey.get(key)) } : resource;
    }),
    remember: alone.remember.flatMap(([key, entry]) => {
      const one = byKey.get(key);
      return one && (faulty.has(key) || one.left.length > 0) ? remembered(one) : [[key, entry] as const];
    }),
  };
}

function stateOf(running: EffectiveAd | undefined): Loaded["resources"][number]["state"] {
  if (!running || running.ad.pools.size === 0) return "Failed";
  return running.version === "kept" ? "KeptPrevious" : "AppliedInPart";
}

/** Its last good version, with the pools that were left out since. */
function remembered({ candidate: { key, before, kept }, left }: EffectiveAd): [string, LastGoodEntry][] {
  if (!before || !kept) return [];
  const { aliases } = kept.resolved as AdResolved;
  const spec = { ...kept, resolved: { aliases, ...(left.length > 0 && { without: left }) } };
  return [[key, { ...before, spec }]];
}

class CrossChecks {
  readonly #effective: EffectiveConfig;
  readonly #lengths: PoolLengths;
  readonly #echoing: Config["peers"];

  constructor(effective: EffectiveConfig) {
    this.#effective = effective;
    this.#lengths = new PoolLengths(effective.pools);
    this.#echoing = new Map(
      [...effective.peers].filter(([, { bfdProfile }]) => bfdProfile !== undefined && effective.bfdProfiles.get(bfdProfile)?.echoMode),
    );
  }

  problemsOf(ad: BgpAd): ConfigProblem[] {
    const tooNarrow = this.#tooNarrow(ad)
      .values()
      .flatMap((name) => this.#lengths.entriesNarrowerThan(name, aggregationOf(ad)))
      .take(NAMED);
    return [
      ...tooNarrow.map(({ range, length }): ConfigProblem => {
        const { family } = range.first;
        const message = `invalid aggregation length ${aggregationOf(ad)[family]}: prefix ${length} in this pool is more specific than the aggregation length for addresses ${range.toString()}`;
        return { rule: "G6", field: family === 4 ? "spec.aggregationLength" : "spec.aggregationLengthV6", message };
      }),
      ...this.#echoed(ad).flatMap(({ pools: [pool = ""], peer }): ConfigProblem[] => {
        const message = `pool ${pool} has bgpadvertisement ${ad.name} which references peer ${peer} which has bfd echo enabled, which is not possible`;
        return [{ rule: "V3", field: ad.peers ? "spec.peers" : "spec.ipAddressPools", message }];
      }),
    ];
  }

  /** Without the incompatible pools that were not announced before. */
  fitting({ kept }: AdCandidate, ad: BgpAd): Pick<EffectiveAd, "ad" | "left"> {
    const unsuitable = new Set([...this.#tooNarrow(ad), ...this.#echoed(ad).flatMap(({ pools }) => pools)]);
    if (unsuitable.size === 0) return { ad, left: [] };
    const leftBefore = new Set((kept?.resolved as AdResolved | undefined)?.without);
    const wasAnnounced = (name: string) => kept !== undefined && this.#effective.poolsBefore.has(name) && !leftBefore.has(name);
    const left = [...unsuitable].filter((name) => !wasAnnounced(name)).sort();
    return { ad: without(ad, new Set(left)), left };
  }

  #tooNarrow(ad: BgpAd): string[] {
    const narrower = this.#lengths.narrowerThan(aggregationOf(ad));
    return narrower.size === 0 ? [] : [...ad.pools].filter((name) => narrower.has(name));
  }

  #echoed(ad: BgpAd): { peer: string; pools: string[] }[] {
    const peers = [...this.#echoing.values()].filter(
      ({ name, nodeSelectors }) => (!ad.peers || ad.peers.has(name)) && this.#share(ad.nodeSelectors, nodeSelectors),
    );
    if (peers.length === 0) return [];
    const pools = [...ad.pools].filter((name) => this.#lengths.families(name)[6]);
    return pools.length === 0 ? [] : peers.map(({ name }) => ({ peer: name, pools }));
  }

  #share(a: BgpAd["nodeSelectors"], b: BgpAd["nodeSelectors"]): boolean {
    const other = this.#effective.groups.of(b);
    return [...this.#effective.groups.of(a)].some((group) => other.has(group));
  }

  /** A prefix has one local preference per peer. Unchanged advertisements win, then older ones, then by name. */
  withoutPreferenceConflicts(running: readonly EffectiveAd[], problems: Map<AdCandidate, readonly ConfigProblem[]>): EffectiveAd[] {
    const accepted: EffectiveAd[] = [];
    const decisive = running.filter(({ ad }) => ad.serviceSelectors.length === 0);
    const preferences = new Set(decisive.map(({ ad }) => ad.localPref ?? 0));
    if (preferences.size < 2) return [...running];
    for (const one of running.toSorted(byPrecedence)) {
      const conflicting = this.#conflicting(one.ad, accepted);
      if (!conflicting) {
        accepted.push(one);
        continue;
      }
      const { localPref: own = 0 } = one.ad;
      const { localPref: other = 0 } = conflicting.by;
      const message = `invalid local preference ${own}: local preference ${other} was already set for the same type of BGP update. Check existing BGP advertisements with common pools and aggregation lengths`;
      if (one.version === "current") {
        problems.set(one.candidate, [...(problems.get(one.candidate) ?? []), { rule: "G7", field: "spec.localPref", message }]);
      }
      const kept = one.version === "current" ? one.candidate.lastGood?.spec.value : undefined;
      const instead: EffectiveAd = kept ? { ...one, version: "kept", ...this.fitting(one.candidate, kept) } : one;
      accepted.push({ ...instead, ad: this.#withoutConflicts(instead.ad, accepted) });
    }
    return accepted;
  }

  #withoutConflicts(ad: BgpAd, accepted: readonly EffectiveAd[]): BgpAd {
    const pools = new Set<string>();
    for (const other of accepted) for (const name of this.#commonUpdates(ad, other.ad)) pools.add(name);
    return without(ad, pools);
  }

  #conflicting(ad: BgpAd, accepted: readonly EffectiveAd[]): { by: BgpAd } | undefined {
    const other = accepted.find((one) => this.#commonUpdates(ad, one.ad).next().done === false);
    return other && { by: other.ad };
  }

  /** The pools of which both would announce the same prefix to the same peer with different local preferences. */
  *#commonUpdates(a: BgpAd, b: BgpAd): Generator<string> {
    if ((a.localPref ?? 0) === (b.localPref ?? 0) || a.serviceSelectors.length > 0 || b.serviceSelectors.length > 0) return;
    const same = { 4: a.aggregationLength === b.aggregationLength, 6: a.aggregationLengthV6 === b.aggregationLengthV6 };
    if (!same[4] && !same[6]) return;
    if (a.peers && b.peers && a.peers.isDisjointFrom(b.peers)) return;
    if (!this.#share(a.nodeSelectors, b.nodeSelectors)) return;
    const [fewer, more] = a.pools.size <= b.pools.size ? [a.pools, b.pools] : [b.pools, a.pools];
    for (const name of fewer) {
      if (!more.has(name)) continue;
      const has = this.#lengths.families(name);
      if ((has[4] && same[4]) || (has[6] && same[6])) yield name;
    }
  }
}

function without(ad: BgpAd, pools: ReadonlySet<string>): BgpAd {
  return pools.size === 0 ? ad : { ...ad, pools: ad.pools.difference(pools) };
}

function aggregationOf({ aggregationLength, aggregationLengthV6 }: BgpAd): { 4: number; 6: number } {
  return { 4: aggregationLength, 6: aggregationLengthV6 };
}

function byPrecedence(a: EffectiveAd, b: EffectiveAd): number {
  return (
    Number(isUnchanged(b)) - Number(isUnchanged(a)) ||
    a.candidate.created.getTime() - b.candidate.created.getTime() ||
    compare(a.ad.name, b.ad.name)
  );
}

/** Whether all but the communities is as in the last good version. */
function isUnchanged({ candidate, version }: EffectiveAd): boolean {
  if (version === "kept") return true;
  if (!candidate.kept) return false;
  return isDeepStrictEqual(decisiveParts(candidate.written), decisiveParts(candidate.kept.spec));
}

function decisiveParts({ communities: _, ...spec }: Spec): Partial<Spec> {
  return spec;
}

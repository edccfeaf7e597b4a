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

/** Of one advertisement no more than this many entries of pools are named. */
const NAMED = 16;

/** What advertisements have to fit together with. */
interface AdSurroundings extends Pick<Config, "pools" | "peers" | "bfdProfiles"> {
  readonly groups: NodeGroups;
  /** The pools that were there before, by name. */
  readonly poolsBefore: ReadonlySet<string>;
}

/** An advertisement that is to be in effect. */
interface Running {
  readonly candidate: AdCandidate;
  readonly form: "current" | "kept";
  readonly ad: BgpAd;
  /** The pools that do not fit. */
  readonly left: readonly string[];
}

/**
 * Which advertisements may be, and of which pools. One that does not fit together with a pool keeps its last good form; what still does not fit
 * is left out, unless it was announced before.
 */
export function decideBgpAds(candidates: readonly AdCandidate[], surroundings: AdSurroundings, now: Date): Resolved<Spec, BgpAd> {
  const alone = resolveKind(candidates, now);
  const checks = new CrossChecks(surroundings);
  const faults = new Map<AdCandidate, readonly ConfigProblem[]>();
  const running: Running[] = [];
  for (const candidate of candidates) {
    const { value: current } = candidate.spec;
    const kept = candidate.lastGood?.spec.value;
    const found = current ? checks.faultsOf(current) : [];
    if (found.length > 0) faults.set(candidate, found);
    if (current && (found.length === 0 || !kept)) running.push({ candidate, form: "current", ...checks.fitting(candidate, current) });
    else if (kept) running.push({ candidate, form: "kept", ...checks.fitting(candidate, kept) });
  }

  const accepted = checks.agreeing(running, faults);
  const byKey = new Map(accepted.map((one) => [one.candidate.key, one]));
  const faulty = new Set([...faults.keys()].map(({ key }) => key));
  return {
    values: new Map(
      accepted
        .filter(({ candidate, ad }) => ad.pools.size > 0 || !faults.has(candidate))
        .toSorted((a, b) => compare(a.ad.name, b.ad.name))
        .map(({ ad }) => [ad.name, ad]),
    ),
    current: new Set(
      accepted.filter(({ candidate, form }) => form === "current" && !faults.has(candidate)).map(({ candidate }) => candidate),
    ),
    failures: [
      ...alone.failures,
      ...[...faults].flatMap(([candidate, complaints]) => complaints.map((problem) => failureOf(candidate, problem))),
    ],
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

/** Of one that does not fit. */
function stateOf(running: Running | undefined): Loaded["resources"][number]["state"] {
  if (!running || running.ad.pools.size === 0) return "Failed";
  return running.form === "kept" ? "KeptPrevious" : "AppliedInPart";
}

/** What it was last good as stays in mind, with what had to be left out since. */
function remembered({ candidate: { key, before, kept }, left }: Running): [string, LastGoodEntry][] {
  if (!before || !kept) return [];
  const { aliases } = kept.resolved as AdResolved;
  const spec = { ...kept, resolved: { aliases, ...(left.length > 0 && { without: left }) } };
  return [[key, { ...before, spec }]];
}

class CrossChecks {
  readonly #around: AdSurroundings;
  readonly #lengths: PoolLengths;
  readonly #echoing: Config["peers"];

  constructor(around: AdSurroundings) {
    this.#around = around;
    this.#lengths = new PoolLengths(around.pools);
    this.#echoing = new Map(
      [...around.peers].filter(([, { bfdProfile }]) => bfdProfile !== undefined && around.bfdProfiles.get(bfdProfile)?.echoMode),
    );
  }

  /** What does not fit together with pools and peers. */
  faultsOf(ad: BgpAd): ConfigProblem[] {
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

  /** Without the pools that do not fit, as far as they were not announced before. */
  fitting({ kept }: AdCandidate, ad: BgpAd): Pick<Running, "ad" | "left"> {
    const misfits = new Set([...this.#tooNarrow(ad), ...this.#echoed(ad).flatMap(({ pools }) => pools)]);
    if (misfits.size === 0) return { ad, left: [] };
    const leftBefore = new Set((kept?.resolved as AdResolved | undefined)?.without);
    const wasAnnounced = (name: string) => kept !== undefined && this.#around.poolsBefore.has(name) && !leftBefore.has(name);
    const left = [...misfits].filter((name) => !wasAnnounced(name)).sort();
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
    const other = this.#around.groups.of(b);
    return [...this.#around.groups.of(a)].some((group) => other.has(group));
  }

  /** One prefix has one local preference at each peer. Whoever has its own already goes first, then the older, then by name. */
  agreeing(running: readonly Running[], faults: Map<AdCandidate, readonly ConfigProblem[]>): Running[] {
    const accepted: Running[] = [];
    const decisive = running.filter(({ ad }) => ad.serviceSelectors.length === 0);
    const preferences = new Set(decisive.map(({ ad }) => ad.localPref ?? 0));
    if (preferences.size < 2) return [...running];
    for (const one of running.toSorted(byPrecedence)) {
      const refused = this.#opposed(one.ad, accepted);
      if (!refused) {
        accepted.push(one);
        continue;
      }
      const { localPref: own = 0 } = one.ad;
      const { localPref: other = 0 } = refused.by;
      const message = `invalid local preference ${own}: local preference ${other} was already set for the same type of BGP update. Check existing BGP advertisements with common pools and aggregation lengths`;
      if (one.form === "current") {
        faults.set(one.candidate, [...(faults.get(one.candidate) ?? []), { rule: "G7", field: "spec.localPref", message }]);
      }
      const kept = one.form === "current" ? one.candidate.lastGood?.spec.value : undefined;
      const instead: Running = kept ? { ...one, form: "kept", ...this.fitting(one.candidate, kept) } : one;
      accepted.push({ ...instead, ad: this.#unopposed(instead.ad, accepted) });
    }
    return accepted;
  }

  #unopposed(ad: BgpAd, accepted: readonly Running[]): BgpAd {
    const pools = new Set<string>();
    for (const other of accepted) for (const name of this.#commonUpdates(ad, other.ad)) pools.add(name);
    return without(ad, pools);
  }

  #opposed(ad: BgpAd, accepted: readonly Running[]): { by: BgpAd } | undefined {
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

function byPrecedence(a: Running, b: Running): number {
  return (
    Number(isUnchanged(b)) - Number(isUnchanged(a)) ||
    a.candidate.created.getTime() - b.candidate.created.getTime() ||
    compare(a.ad.name, b.ad.name)
  );
}

/** What decides over local preferences is as it was when it was last good. */
function isUnchanged({ candidate, form }: Running): boolean {
  if (form === "kept") return true;
  if (!candidate.kept) return false;
  return isDeepStrictEqual(decisiveParts(candidate.written), decisiveParts(candidate.kept.spec));
}

function decisiveParts({ communities: _, ...spec }: Spec): Partial<Spec> {
  return spec;
}

import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { compare } from "../../util/compare.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { Config, Profile, L2Ad } from "./config.ts";
import type { ConfigObjects } from "./objects.ts";
import { type AdResolved, readBgpAd } from "./bgp-advertisements.ts";
import { duplicateAlias, readCommunity } from "./communities.ts";
import { type ConfigProblem, type ParseResult, type ResourceVersion, configProblemIf, parseResult } from "./field-error.ts";
import { type ParsedPeer, type PeerContext, type PeerResolved, readPeer } from "./peers.ts";
import { overlap, readPool, withRecordedPools } from "./pools.ts";
import { PoolSelection, selectionProblems } from "./selections.ts";
import type { RuleId } from "./rules.ts";
import { decideBgpAds } from "./resolve-bgp-advertisements.ts";
import { type ConfigCandidate, candidates, type ConfigObject } from "./candidates.ts";
import { resolveKind, type Resolved, failureOf } from "./resolve.ts";
import { NodeGroups } from "./node-groups.ts";
import { decidePeers } from "./resolve-peers.ts";
import { splitUnreadable, selectForNode, nodesOf, selectorLists } from "./select-nodes.ts";
import { warningsOf } from "./warnings.ts";
import type { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import type { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { selectorProblems } from "../../api/core/selector-problems.ts";
import { interfaceNameProblem } from "../../hostnet/interface-name.ts";
import { quote } from "../../ip/error.ts";

/** The controller needs pools and communities, a node what selects it, the cluster all. */
export type ConfigScope = { readonly of: "controller" } | { readonly of: "node"; readonly node: string } | { readonly of: "cluster" };

/** What is kept of a resource between loads. Persisted in the state file. */
export interface LastGoodEntry {
  readonly uid: string;
  readonly generation: number;
  /** The last good version, as loadConfig reads it; none if there never was one. */
  readonly spec?: unknown;
  /** It existed, but not for this node. */
  readonly away?: true;
  /** It is for this node only since then. */
  readonly since?: string;
}

/** By `Kind/name`. Can be stored as JSON. It may contain passwords. */
export type LastGoodConfig = ReadonlyMap<string, LastGoodEntry>;

export interface ConfigFailure extends Failure {
  /** Which rule, as docs/configuration-errors.md lists them: `T1`, `A5`. */
  readonly rule: RuleId;
  readonly generation: number;
}

/** Valid but probably a mistake: a pool that nothing announces, a name of a peer that does not exist. */
export interface Warning {
  readonly kind: string;
  readonly name: string;
  readonly field: string;
  readonly message: string;
}

type ResourceState = NonNullable<NonNullable<ConfigurationState["status"]>["resources"]>[number]["state"];

export interface Loaded {
  readonly config: Config;
  readonly failures: readonly ConfigFailure[];
  readonly warnings: readonly Warning[];
  readonly resources: readonly { kind: string; name: string; generation: number; state: ResourceState }[];
  /** Those that cannot be validated because their Secret cannot be read; `isInForce`: the last good version is effective. */
  readonly unread: readonly { kind: string; name: string; generation: number; secret: string; isInForce: boolean }[];
  readonly lastGood: LastGoodConfig;
}

export interface LoadOptions {
  readonly view: ConfigScope;
  readonly lastGood: LastGoodConfig;
  readonly now: Date;
}

/** Computes the effective configuration from the objects. Pure; a bad resource does not affect others. */
export function loadConfig(objects: ConfigObjects, options: LoadOptions): Loaded {
  const { view, now } = options;
  const communities = resolveKind(read("Community", objects.communities, options, readCommunity), now, {
    rule: "C2",
    message: ({ subject }) => duplicateAlias(subject),
  });
  const readPoolHere = (written: ResourceVersion<(typeof objects.pools)[number]["spec"]>) => readPool(written, objects.namespaces);
  const lastPools = { ...options, lastGood: withRecordedPools(options.lastGood, objects.pools) };
  const { values: pools, ...ofPools } = resolveKind(read("IPAddressPool", objects.pools, lastPools, readPoolHere), now, {
    rule: "A5",
    message: (own, other, { name }) => overlap(name, own.subject, other.subject),
  });
  if (view.of === "controller") return loaded({ ...NOTHING, pools }, { warnings: [], unread: [] }, [communities, ofPools]);

  const profiles = resolveKind(read("BFDProfile", objects.bfdProfiles, options, readProfile), now);
  const context: PeerContext = {
    secret: (name) => objects.secret(name),
    profiles: profiles.values,
    profileNames: new Set(objects.bfdProfiles.map(({ metadata }) => metadata.name)),
  };
  const allPeers = read("BGPPeer", objects.peers, options, (written, resolved) =>
    readPeer(written, context, resolved as PeerResolved | undefined),
  );
  const selection = new PoolSelection(pools);
  const aliases = new Map(communities.values.values().flatMap((meanings) => meanings));
  const allAds = read("BGPAdvertisement", objects.bgpAdvertisements, options, (written, resolved) =>
    readBgpAd(written, { pools: selection, aliases }, resolved as AdResolved | undefined),
  );

  const nodes = nodesOf(objects, view);
  const peersHere = selectForNode(allPeers, view, nodes, now);
  const adsHere = selectForNode(allAds, view, nodes, now);
  const { candidates: readablePeers, unread, ...leftOut } = splitUnreadable(peersHere.candidates);
  const groups = new NodeGroups(nodes, [...readablePeers.flatMap(selectorLists), ...adsHere.candidates.flatMap(selectorLists)]);
  const peers = decidePeers(readablePeers, groups, now);
  const effective = {
    pools,
    peers: new Map([...peers.values].map(([name, { peer }]) => [name, peer])),
    bfdProfiles: withLost(profiles.values, peers.values),
  };
  const poolsBefore = new Set(
    objects.pools.map(({ metadata }) => metadata.name).filter((name) => options.lastGood.has(`IPAddressPool/${name}`)),
  );
  const bgpAds = decideBgpAds(adsHere.candidates, { ...effective, groups, poolsBefore }, now);
  const l2Ads = resolveKind(
    read("L2Advertisement", objects.l2Advertisements, options, (written) => readL2Ad(written, selection)),
    now,
  );
  const extras = readExtras(objects.extras ?? "", options.lastGood);

  const config = { ...effective, bgpAds: bgpAds.values, l2Ads: l2Ads.values, extras: extras.text };
  const warnings = warningsOf(objects, pools, { bgp: effectiveValues(allAds), l2: l2Ads.values.values().toArray() });
  return loaded(config, { warnings, unread }, [
    communities,
    ofPools,
    profiles,
    peers,
    { failures: [], ...leftOut },
    { failures: [], resources: [], remember: peersHere.away },
    bgpAds,
    l2Ads,
    { failures: extras.problems.map((problem) => failureOf(BGPEXTRAS, problem)), resources: [], remember: extras.remember },
  ]);
}

const NOTHING: Config = { pools: new Map(), peers: new Map(), bfdProfiles: new Map(), bgpAds: new Map(), l2Ads: new Map(), extras: "" };
const BGPEXTRAS = { kind: "ConfigMap", name: "bgpextras", namespace: "", generation: 0 };

/** The problem of the second of two objects with one name. No API server allows two. */
const DUPLICATES = {
  Community: ["C2", duplicateAlias],
  IPAddressPool: ["A4", (name) => `duplicate definition of pool "${name}"`],
  BFDProfile: ["B2", (name) => `found duplicate bfd profile name ${name}`],
  BGPPeer: ["P10", (name) => `peer ${name} already exists`],
  BGPAdvertisement: ["G1", (name) => `duplicate definition of bgpadvertisements. advertisement ${name} exists twice`],
  L2Advertisement: ["L1", (name) => `l2advertisement ${name} already exists`],
} as const satisfies Record<string, readonly [RuleId, (name: string) => string]>;

function read<S, T>(
  kind: keyof typeof DUPLICATES,
  objects: readonly ConfigObject<S>[],
  { lastGood, now }: LoadOptions,
  readOne: (written: ResourceVersion<S>, resolved?: unknown) => ParseResult<T>,
): ConfigCandidate<S, T>[] {
  const [rule, say] = DUPLICATES[kind];
  const duplicate = (name: string): ConfigProblem => ({ rule, field: "metadata.name", message: say(name) });
  return candidates({ kind, objects, lastGood, now, read: readOne, duplicate });
}

/** A peer with its last good version keeps its last profile, too. */
function withLost(profiles: ReadonlyMap<string, Profile>, peers: ReadonlyMap<string, ParsedPeer>): Map<string, Profile> {
  const lost = [...peers.values()].flatMap(({ lostProfile }) => (lostProfile ? [[lostProfile.name, lostProfile] as const] : []));
  return new Map([...lost, ...profiles].sort(([a], [b]) => compare(a, b)));
}

function effectiveValues<T>(all: readonly ConfigCandidate<unknown, T>[]): T[] {
  return all.flatMap(({ spec, lastGood }) => spec.value ?? lastGood?.spec.value ?? []);
}

type Part = Pick<Resolved<unknown, unknown>, "failures" | "resources" | "remember">;

function loaded(config: Config, more: Pick<Loaded, "warnings" | "unread">, parts: readonly Part[]): Loaded {
  return {
    config,
    ...more,
    failures: parts.flatMap(({ failures }) => failures).sort(inOrder),
    resources: parts.flatMap(({ resources }) => resources).sort((a, b) => compare(a.kind, b.kind) || compare(a.name, b.name)),
    lastGood: new Map(parts.flatMap(({ remember }) => remember)),
  };
}

function inOrder(a: ConfigFailure, b: ConfigFailure): number {
  return compare(a.kind, b.kind) || compare(a.name, b.name) || compare(a.field, b.field) || compare(a.message, b.message);
}

const KEY = "ConfigMap/bgpextras";

interface Extras {
  readonly text: string;
  readonly problems: readonly ConfigProblem[];
  readonly remember: readonly (readonly [string, LastGoodEntry])[];
}

/** Lines for FRR. Only control characters are rejected here; FRR validates the rest. */
function readExtras(text: string, lastGood: LastGoodConfig): Extras {
  const bad = text.split("\n").findIndex((line) => /[^\P{Cc}\t\r]/u.test(line));
  if (bad < 0) return { text, problems: [], remember: text === "" ? [] : [[KEY, { uid: "", generation: 0, spec: text }]] };
  const kept = lastGood.get(KEY);
  return {
    text: typeof kept?.spec === "string" ? kept.spec : "",
    problems: [{ rule: "E1", field: "data.extras", message: `extras has a control character in line ${bad + 1}` }],
    remember: kept ? [[KEY, kept]] : [],
  };
}

const LIMITS = [
  ["detectMultiplier", "detect multiplier", 2, 255],
  ["receiveInterval", "receive interval", 10, 60_000],
  ["transmitInterval", "transmit interval", 10, 60_000],
  ["minimumTtl", "minimum ttl", 1, 254],
  ["echoInterval", "echo interval", 10, 60_000],
] as const;

/** FRR truncates longer profile names, and two could become one. */
const LONGEST = 63;

function readProfile({ name, generation, spec }: ResourceVersion<BFDProfile["spec"]>): ParseResult<Profile> {
  const problems: ConfigProblem[] = [
    ...configProblemIf(name === "", "B2", "metadata.name", () => "missing bfd profile name"),
    ...configProblemIf(
      name.length > LONGEST,
      "B2",
      "metadata.name",
      () => `bfd profile name ${name} has more than ${LONGEST} characters, the maximum of FRR`,
    ),
    ...LIMITS.flatMap(([field, title, min, max]) => {
      const value = spec[field];
      const wrong = value !== undefined && !(Number.isInteger(value) && value >= min && value <= max);
      const message = () => `parsing bfd profile ${name}: invalid value ${value}, must be in ${min}-${max} range\ninvalid ${title} value`;
      return configProblemIf(wrong, "B1", `spec.${field}`, message);
    }),
  ];
  return parseResult(problems, () => {
    const { receiveInterval, transmitInterval, detectMultiplier, echoInterval, minimumTtl, echoMode = false, passiveMode = false } = spec;
    return {
      name,
      generation,
      echoMode,
      passiveMode,
      ...(receiveInterval !== undefined && { receiveInterval }),
      ...(transmitInterval !== undefined && { transmitInterval }),
      ...(detectMultiplier !== undefined && { detectMultiplier }),
      ...(echoInterval !== undefined && { echoInterval }),
      ...(minimumTtl !== undefined && { minimumTtl }),
    };
  });
}

function readL2Ad({ name, generation, spec }: ResourceVersion<L2Advertisement["spec"]>, pools: PoolSelection): ParseResult<L2Ad> {
  const { interfaces = [], preferredNodeSelectors = [] } = spec;
  const problems: ConfigProblem[] = [
    ...selectionProblems(name, spec, "L1"),
    ...interfaces.flatMap((device, nth) => {
      const problem = interfaceNameProblem(device);
      const message = () => `invalid interface ${quote(device)} in ${name}: it ${problem}`;
      return configProblemIf(problem !== undefined, "L1", `spec.interfaces[${nth}]`, message);
    }),
    ...preferredNodeSelectors.flatMap(({ weight, preference }, nth): ConfigProblem[] => {
      const field = `spec.preferredNodeSelectors[${nth}]`;
      const wrong = !Number.isInteger(weight) || weight < 1 || weight > 100;
      return [
        ...configProblemIf(wrong, "L1", `${field}.weight`, () => `invalid weight ${weight} in ${name}: must be in 1-100 range`),
        ...selectorProblems(preference).map(({ path, message }): ConfigProblem => ({
          rule: "L1",
          field: `${field}.preference.${path}`,
          message: `${message}\nfailed to parse preferred node selectors for ${name}`,
        })),
      ];
    }),
  ];
  return parseResult(problems, () => ({
    name,
    generation,
    pools: pools.select(spec),
    nodeSelectors: spec.nodeSelectors ?? [],
    serviceSelectors: spec.serviceSelectors ?? [],
    ...(interfaces.length > 0 && { interfaces: [...new Set(interfaces)].sort() }),
    preferences: preferredNodeSelectors.map(({ weight, preference }) => ({ weight, selector: preference })),
  }));
}

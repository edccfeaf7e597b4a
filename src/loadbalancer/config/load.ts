import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { Config, Profile } from "./config.ts";
import type { ConfigObjects } from "./objects.ts";
import { type AdResolved, readBgpAd } from "./bgp-advertisements.ts";
import { duplicateAlias, readCommunity } from "./communities.ts";
import type { Complaint, Reading, Written } from "./field-error.ts";
import { readExtras } from "./extras.ts";
import { readL2Ad } from "./l2-advertisements.ts";
import { type PeerForm, type PeerGround, type PeerResolved, readPeer } from "./peers.ts";
import { overlap, readPool } from "./pools.ts";
import { readProfile } from "./bfd-profiles.ts";
import { PoolSelection } from "./selections.ts";
import type { RuleId } from "./rules.ts";
import { decideBgpAds } from "./resolve-bgp-advertisements.ts";
import { type Candidate, candidates, type ConfigObject } from "./candidates.ts";
import { compare, decide, type Decided, failureOf } from "./resolve.ts";
import { withRecordedPools } from "./pools-from-claims.ts";
import { NodeGroups } from "./node-groups.ts";
import { decidePeers } from "./resolve-peers.ts";
import { judgeable } from "./unreadable-kinds.ts";
import { hereIn, nodesOf, selectorLists } from "./select-nodes.ts";
import { warningsOf } from "./warnings.ts";

/** Whose eyes it is looked at with: the controller's sees pools and communities, a node's what selects it, the cluster's all of it. */
export type View = { readonly of: "controller" } | { readonly of: "node"; readonly node: string } | { readonly of: "cluster" };

/** What is remembered of a resource. */
export interface Remembered {
  readonly uid: string;
  readonly generation: number;
  /** The form that it was last live in, for loadConfig to read; none where it was never live. */
  readonly spec?: unknown;
  /** It was there, but not for this node. */
  readonly away?: true;
  /** It is for this node only since then. */
  readonly since?: string;
}

/** By `Kind/name`. To be kept as it is, also as JSON. It may hold passwords. */
export type LastGood = ReadonlyMap<string, Remembered>;

export interface ConfigFailure extends Failure {
  /** Which rule, as docs/configuration-errors.md lists them: `T1`, `A5`. */
  readonly rule: RuleId;
  readonly generation: number;
}

/** Not wrong, but surely not meant: a pool that nothing announces, a peer's name that nobody has. */
export interface Warning {
  readonly kind: string;
  readonly name: string;
  readonly field: string;
  readonly message: string;
}

type ResourceState = NonNullable<NonNullable<ConfigurationState["status"]>["resources"]>[number]["state"];

export interface Loaded {
  readonly config: Config;
  /** All of them, sorted by kind, name and field. */
  readonly failures: readonly ConfigFailure[];
  readonly warnings: readonly Warning[];
  /** Every resource of the view and what became of it. */
  readonly resources: readonly { kind: string; name: string; generation: number; state: ResourceState }[];
  /** Those that cannot be judged, because they need a Secret that cannot be read; `isInForce`: in their last good form. */
  readonly unread: readonly { kind: string; name: string; generation: number; secret: string; isInForce: boolean }[];
  /** What to remember for the next time. */
  readonly lastGood: LastGood;
}

export interface LoadOptions {
  readonly view: View;
  readonly lastGood: LastGood;
  readonly now: Date;
}

/** From what stands in the cluster to what is in effect. Pure; one bad resource costs no other. */
export function loadConfig(objects: ConfigObjects, options: LoadOptions): Loaded {
  const { view, now } = options;
  const communities = decide(read("Community", objects.communities, options, readCommunity), now, {
    rule: "C2",
    message: ({ words }) => duplicateAlias(words),
  });
  const readPoolHere = (written: Written<(typeof objects.pools)[number]["spec"]>) => readPool(written, objects.namespaces);
  const lastPools = { ...options, lastGood: withRecordedPools(options.lastGood, objects.pools) };
  const { values: pools, ...ofPools } = decide(read("IPAddressPool", objects.pools, lastPools, readPoolHere), now, {
    rule: "A5",
    message: (own, other, { name }) => overlap(name, own.words, other.words),
  });
  if (view.of === "controller") return loaded({ ...NOTHING, pools }, { warnings: [], unread: [] }, [communities, ofPools]);

  const profiles = decide(read("BFDProfile", objects.bfdProfiles, options, readProfile), now);
  const ground: PeerGround = {
    secret: (name) => objects.secret(name),
    profiles: profiles.values,
    profileNames: new Set(objects.bfdProfiles.map(({ metadata }) => metadata.name)),
  };
  const allPeers = read("BGPPeer", objects.peers, options, (written, resolved) =>
    readPeer(written, ground, resolved as PeerResolved | undefined),
  );
  const selection = new PoolSelection(pools);
  const aliases = new Map(communities.values.values().flatMap((meanings) => meanings));
  const allAds = read("BGPAdvertisement", objects.bgpAdvertisements, options, (written, resolved) =>
    readBgpAd(written, { pools: selection, aliases }, resolved as AdResolved | undefined),
  );

  const nodes = nodesOf(objects, view);
  const peersHere = hereIn(allPeers, view, nodes, now);
  const adsHere = hereIn(allAds, view, nodes, now);
  const { candidates: peersToJudge, unread, ...leftOut } = judgeable(peersHere.candidates);
  const groups = new NodeGroups(nodes, [...peersToJudge.flatMap(selectorLists), ...adsHere.candidates.flatMap(selectorLists)]);
  const peers = decidePeers(peersToJudge, groups, now);
  const around = {
    pools,
    peers: new Map([...peers.values].map(([name, { peer }]) => [name, peer])),
    bfdProfiles: withLost(profiles.values, peers.values),
  };
  const poolsBefore = new Set(
    objects.pools.map(({ metadata }) => metadata.name).filter((name) => options.lastGood.has(`IPAddressPool/${name}`)),
  );
  const bgpAds = decideBgpAds(adsHere.candidates, { ...around, groups, poolsBefore }, now);
  const l2Ads = decide(
    read("L2Advertisement", objects.l2Advertisements, options, (written) => readL2Ad(written, selection)),
    now,
  );
  const extras = readExtras(objects.extras ?? "", options.lastGood);

  const config = { ...around, bgpAds: bgpAds.values, l2Ads: l2Ads.values, extras: extras.text };
  const warnings = warningsOf(objects, pools, { bgp: formsOf(allAds), l2: l2Ads.values.values().toArray() });
  return loaded(config, { warnings, unread }, [
    communities,
    ofPools,
    profiles,
    peers,
    { failures: [], ...leftOut },
    { failures: [], resources: [], remember: peersHere.away },
    bgpAds,
    l2Ads,
    { failures: extras.complaints.map((complaint) => failureOf(BGPEXTRAS, complaint)), resources: [], remember: extras.remember },
  ]);
}

const NOTHING: Config = { pools: new Map(), peers: new Map(), bfdProfiles: new Map(), bgpAds: new Map(), l2Ads: new Map(), extras: "" };
const BGPEXTRAS = { kind: "ConfigMap", name: "bgpextras", namespace: "", generation: 0 };

/** What is said of the second of two with one name. No API server has two. */
const TWINS = {
  Community: ["C2", duplicateAlias],
  IPAddressPool: ["A4", (name) => `duplicate definition of pool "${name}"`],
  BFDProfile: ["B2", (name) => `found duplicate bfd profile name ${name}`],
  BGPPeer: ["P10", (name) => `peer ${name} already exists`],
  BGPAdvertisement: ["G1", (name) => `duplicate definition of bgpadvertisements. advertisement ${name} is there twice`],
  L2Advertisement: ["L1", (name) => `l2advertisement ${name} already exists`],
} as const satisfies Record<string, readonly [RuleId, (name: string) => string]>;

function read<S, T>(
  kind: keyof typeof TWINS,
  objects: readonly ConfigObject<S>[],
  { lastGood, now }: LoadOptions,
  readOne: (written: Written<S>, resolved?: unknown) => Reading<T>,
): Candidate<S, T>[] {
  const [rule, say] = TWINS[kind];
  const duplicate = (name: string): Complaint => ({ rule, field: "metadata.name", message: say(name) });
  return candidates({ kind, objects, lastGood, now, read: readOne, duplicate });
}

/** A peer that keeps its last good form keeps the profile that it had, too. */
function withLost(profiles: ReadonlyMap<string, Profile>, peers: ReadonlyMap<string, PeerForm>): Map<string, Profile> {
  const lost = [...peers.values()].flatMap(({ lostProfile }) => (lostProfile ? [[lostProfile.name, lostProfile] as const] : []));
  return new Map([...lost, ...profiles].sort(([a], [b]) => compare(a, b)));
}

function formsOf<T>(all: readonly Candidate<unknown, T>[]): T[] {
  return all.flatMap(({ spec, lastGood }) => spec.value ?? lastGood?.spec.value ?? []);
}

type Part = Pick<Decided<unknown, unknown>, "failures" | "resources" | "remember">;

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

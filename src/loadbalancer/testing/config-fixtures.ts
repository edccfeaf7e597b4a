import type { Secret } from "../../api/core/secret.ts";
import type { ObjectMeta } from "../../api/kind.ts";
import type { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import type { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import type { Community } from "../../api/metallb/community.ts";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { type LastGoodConfig, loadConfig, type Loaded, type LoadOptions, type ConfigScope } from "../config/load.ts";
import type { ConfigObjects, Labeled } from "../config/objects.ts";
import { RULES, type RuleId } from "../config/rules.ts";

// Objects for tests: valid unless a test sets a field.

/** The hour of the day that an object was created at makes its age. */
export interface ObjectAge {
  readonly hour?: number;
  readonly generation?: number;
  readonly labels?: Record<string, string>;
  /** Its record: since which hour it asks for what. */
  readonly claims?: Readonly<Record<string, number>>;
}

const at = (hour: number) => `2026-01-01T${String(hour).padStart(2, "0")}:00:00Z`;

function metadata(kind: string, name: string, { hour = 0, generation = 1, labels }: ObjectAge): ObjectMeta {
  return {
    name,
    namespace: "metallb-system",
    uid: `${kind}-${name}`,
    generation,
    creationTimestamp: at(hour),
    ...(labels && { labels }),
  };
}

function record({ claims }: ObjectAge): { status?: { claims: { claim: string; since: string }[] } } {
  return claims ? { status: { claims: Object.entries(claims).map(([claim, hour]) => ({ claim, since: at(hour) })) } } : {};
}

export function pool(name: string, addresses: string[], spec: Partial<IPAddressPool["spec"]> = {}, born: ObjectAge = {}): IPAddressPool {
  return {
    metadata: metadata("IPAddressPool", name, born),
    spec: { addresses, autoAssign: true, avoidBuggyIPs: false, ...spec },
    ...record(born),
  };
}

/** A peer at 192.0.2.1, unless the spec says where. */
export function peer(name: string, spec: Partial<BGPPeer["spec"]> = {}, born: ObjectAge = {}): BGPPeer {
  const address = spec.interface === undefined ? { peerAddress: "192.0.2.1" } : {};
  return { metadata: metadata("BGPPeer", name, born), spec: { myASN: 64_512, peerASN: 64_513, ...address, ...spec }, ...record(born) };
}

export function profile(name: string, spec: BFDProfile["spec"] = {}, born: ObjectAge = {}): BFDProfile {
  return { metadata: metadata("BFDProfile", name, born), spec };
}

export function bgpAd(name: string, spec: Partial<BGPAdvertisement["spec"]> = {}, born: ObjectAge = {}): BGPAdvertisement {
  return { metadata: metadata("BGPAdvertisement", name, born), spec: { aggregationLength: 32, aggregationLengthV6: 128, ...spec } };
}

export function l2Ad(name: string, spec: L2Advertisement["spec"] = {}, born: ObjectAge = {}): L2Advertisement {
  return { metadata: metadata("L2Advertisement", name, born), spec };
}

export function community(name: string, aliases: Record<string, string>, born: ObjectAge = {}): Community {
  const communities = Object.entries(aliases).map(([name, value]) => ({ name, value }));
  return { metadata: metadata("Community", name, born), spec: { communities }, ...record(born) };
}

export function secret(name: string, fields: Partial<Secret> = {}): Secret {
  const password = Buffer.from("geheim").toString("base64");
  return { metadata: metadata("Secret", name, {}), type: "kubernetes.io/basic-auth", data: { password }, ...fields };
}

export function node(name: string, labels: Record<string, string> = {}): Labeled {
  return { name, labels };
}

export function onRack(rack: string): { nodeSelectors: { matchLabels: Record<string, string> }[] } {
  return { nodeSelectors: [{ matchLabels: { rack } }] };
}

export type ConfigParts = Partial<Omit<ConfigObjects, "secret">> & {
  readonly secrets?: readonly Secret[];
  /** Names of Secrets. */
  readonly unreadable?: readonly string[];
};

export function objects({ secrets = [], unreadable = [], ...parts }: ConfigParts): ConfigObjects {
  return {
    pools: [],
    peers: [],
    bfdProfiles: [],
    bgpAdvertisements: [],
    l2Advertisements: [],
    communities: [],
    namespaces: [],
    nodes: [node("n1")],
    ...parts,
    secret: (name) => (unreadable.includes(name) ? "unreadable" : secrets.find(({ metadata }) => metadata.name === name)),
  };
}

export const CLUSTER: ConfigScope = { of: "cluster" };
const NOW = new Date("2026-01-02T00:00:00Z");

export function load(
  parts: ConfigParts,
  view: ConfigScope = CLUSTER,
  lastGood: LastGoodConfig = new Map(),
  more: Partial<LoadOptions> = {},
): Loaded {
  return loadConfig(objects(parts), { view, lastGood, now: NOW, ...more });
}

/** One after the other, each with what was remembered of the one before, as it comes back from a disk. */
export function loadSequence(view: ConfigScope, ...steps: ConfigParts[]): Loaded {
  let lastGood: LastGoodConfig = new Map();
  let loaded = load({}, view);
  for (const step of steps) {
    loaded = load(step, view, lastGood);
    lastGood = new Map(JSON.parse(JSON.stringify([...loaded.lastGood])) as [string, never][]);
  }
  return loaded;
}

/** `A5 IPAddressPool/b spec.addresses[0]: CIDR ...`. Every message must read as its rule says. */
export function failureTexts({ failures }: Pick<Loaded, "failures">): string[] {
  return failures.map(({ rule, kind, name, field, message }) => {
    if (!readsAs(rule, message)) throw new Error(`${rule} does not read: ${message}`);
    return `${rule} ${kind}/${name} ${field}: ${message}`;
  });
}

export function readsAs(rule: RuleId, message: string): boolean {
  return RULES[rule].text.some((text) => {
    const parts = text.split(/<[a-z]+>/).map((part) => RegExp.escape(part));
    return new RegExp(`^${parts.join("[^]*")}$`).test(message);
  });
}

/** `{ "BGPPeer/a": "Applied" }` */
export function states({ resources }: Pick<Loaded, "resources">): Record<string, string> {
  return Object.fromEntries(resources.map(({ kind, name, state }) => [`${kind}/${name}`, state]));
}

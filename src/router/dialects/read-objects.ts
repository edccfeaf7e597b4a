import { apiAnnotation } from "../../api/annotations.ts";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import type { Underlay } from "../../api/openpe/underlay.ts";
import type { RouterObjects } from "../model/observed.ts";
import type {
  ApiDialect,
  HostSession,
  L2VNISpec,
  L3VNISpec,
  NeighborSpec,
  PassthroughSpec,
  Reading,
  RouterObject,
  UnderlaySpec,
} from "../model/specs.ts";
import type { FieldProblem } from "../validate/field-error.ts";
import { vrfOf } from "../validate/names.ts";

/** The router's objects as they are stored. */
export interface StoredObjects {
  readonly underlays: readonly Underlay[];
  readonly l2vnis: readonly L2VNI[];
  readonly l3vnis: readonly L3VNI[];
  readonly passthroughs: readonly L3Passthrough[];
  readonly rawConfigs: readonly RawFRRConfig[];
}

export function readObjects(stored: StoredObjects): RouterObjects {
  return {
    underlays: stored.underlays.map(readUnderlay),
    l2vnis: stored.l2vnis.map(readL2VNI),
    l3vnis: stored.l3vnis.map(readL3VNI),
    passthroughs: stored.passthroughs.map(readPassthrough),
    rawConfigs: stored.rawConfigs.map(readRawConfig),
  };
}

/** Collects how the fields of one object are spelled. */
class Spellings {
  readonly #problems: FieldProblem[] = [];
  readonly #writtenAs = new Map<string, string>();
  #api: ApiDialect = "v0.1";

  constructor(annotations: Readonly<Record<string, string>> = {}) {
    const requested = annotations[apiAnnotation];
    if (requested === "v0.2") this.#api = requested;
    if (requested !== undefined && requested !== "v0.1" && requested !== "v0.2") {
      this.problem(`metadata.annotations[${apiAnnotation}]`, `Annotation ${apiAnnotation} must be v0.1 or v0.2, not ${requested}`);
    }
  }

  /** `field` exists only in v0.2. */
  newer(field: string, ourName?: string): void {
    this.#api = "v0.2";
    if (ourName !== undefined) this.#writtenAs.set(ourName, field);
  }

  /** The value of a setting that has one name in v0.1 and another in v0.2. */
  either<T>(at: string, older: readonly [string, T | undefined], newer: readonly [string, T | undefined]): T | undefined {
    if (newer[1] === undefined) return older[1];
    if (older[1] !== undefined) {
      this.problem(`${at}.${newer[0]}`, `${older[0]} and ${newer[0]} are the same setting; remove one of them`);
    }
    this.newer(`${at}.${newer[0]}`, `${at}.${older[0]}`);
    return newer[1];
  }

  unsupported(field: string, value: unknown): void {
    if (value === undefined) return;
    this.newer(field);
    this.problem(field, `${field} is not supported by this version`);
  }

  problem(field: string, message: string): void {
    this.#problems.push({ field, message });
  }

  get reading(): Reading {
    return { api: this.#api, problems: this.#problems, writtenAs: this.#writtenAs };
  }
}

const IPV6_VTEP = "IPv6 tunnel endpoints are not supported by this version";

export function readUnderlay(object: Underlay): RouterObject<UnderlaySpec> {
  const { interfaces, tunnelEndpoint, isis, srv6, neighbors, nics, evpn, ...same } = object.spec;
  const spellings = new Spellings(object.metadata.annotations);
  interfaces?.forEach((_, nth) => spellings.newer(`spec.interfaces[${nth}].networkDevice.interfaceName`, `spec.nics[${nth}]`));
  const names = interfaces?.map(({ networkDevice }) => networkDevice?.interfaceName ?? "");
  const allNics = spellings.either("spec", ["nics", nics], ["interfaces", names]);
  const vtep = spellings.either(
    "spec",
    ["evpn", evpn],
    ["tunnelEndpoint", tunnelEndpoint && readTunnelEndpoint(tunnelEndpoint, spellings)],
  );
  if (same.gracefulRestart) spellings.newer("spec.gracefulRestart");
  spellings.unsupported("spec.isis", isis);
  spellings.unsupported("spec.srv6", srv6);
  const spec: UnderlaySpec = {
    ...same,
    ...(neighbors && { neighbors: neighbors.map((one, nth) => readNeighbor(one, `spec.neighbors[${nth}]`, spellings)) }),
    ...(allNics && { nics: allNics }),
    ...(vtep && { evpn: vtep }),
  };
  return { ...object, spec, reading: spellings.reading };
}

function isIPv6(text: string): boolean {
  return text.includes(":");
}

function readTunnelEndpoint({ cidrs }: NonNullable<Underlay["spec"]["tunnelEndpoint"]>, spellings: Spellings): { vtepcidr: string } {
  cidrs.forEach((text, nth) => {
    const field = `spec.tunnelEndpoint.cidrs[${nth}]`;
    if (isIPv6(text)) spellings.problem(field, IPV6_VTEP);
    else if (cidrs.findIndex((other) => !isIPv6(other)) < nth)
      spellings.problem(field, "tunnelEndpoint.cidrs allows one prefix of each family");
  });
  const first = Math.max(
    0,
    cidrs.findIndex((text) => !isIPv6(text)),
  );
  spellings.newer(`spec.tunnelEndpoint.cidrs[${first}]`, "spec.evpn.vtepcidr");
  return { vtepcidr: cidrs[first] ?? "" };
}

type ApiNeighbor = NonNullable<Underlay["spec"]["neighbors"]>[number];

function readNeighbor(neighbor: ApiNeighbor, at: string, spellings: Spellings): NeighborSpec {
  const { holdTime, keepaliveTime, connectTime, holdTimeSeconds, keepaliveTimeSeconds, connectTimeSeconds, properties, bfd, ...same } =
    neighbor;
  const duration = (name: string, text: string | undefined, seconds: number | undefined) =>
    spellings.either(at, [name, text], [`${name}Seconds`, seconds === undefined ? undefined : `${seconds}s`]);
  const timers = {
    holdTime: duration("holdTime", holdTime, holdTimeSeconds),
    keepaliveTime: duration("keepaliveTime", keepaliveTime, keepaliveTimeSeconds),
    connectTime: duration("connectTime", connectTime, connectTimeSeconds),
  };
  // A missing one of the two is missed under the name that belongs to the other.
  const [inSeconds, inDurations] = [holdTimeSeconds ?? keepaliveTimeSeconds, holdTime ?? keepaliveTime];
  if (inSeconds !== undefined && inDurations === undefined) {
    for (const name of ["holdTime", "keepaliveTime"]) spellings.newer(`${at}.${name}Seconds`, `${at}.${name}`);
  }
  const { ebgpMultiHop, multiHopTtl } = readMultiHop(same.ebgpMultiHop, properties, at, spellings);
  for (const name of ["type", "interface", "addressFamilies"] as const) if (same[name] !== undefined) spellings.newer(`${at}.${name}`);
  same.addressFamilies?.forEach(({ type }, nth) => {
    if (type === "ipv4vpn" || type === "ipv6vpn") {
      spellings.problem(`${at}.addressFamilies[${nth}].type`, `Address family ${type} is not supported by this version`);
    }
  });
  return { ...same, ...defined({ ...timers, ebgpMultiHop, multiHopTtl }), ...(bfd && { bfd: readBfd(bfd, `${at}.bfd`, spellings) }) };
}

function readMultiHop(older: boolean | undefined, properties: ApiNeighbor["properties"], at: string, spellings: Spellings) {
  const nth = properties?.findIndex(({ type }) => type === "ebgpMultiHop") ?? -1;
  const newer = properties?.[nth]?.ebgpMultiHop;
  const ebgpMultiHop = spellings.either(at, ["ebgpMultiHop", older], ["properties", newer && true]);
  if (newer) spellings.newer(`${at}.properties[${nth}].ebgpMultiHop.ttl`, `${at}.multiHopTtl`);
  return { ebgpMultiHop, multiHopTtl: newer?.ttl };
}

function readBfd({ minimumTTL, minimumTtl, ...same }: NonNullable<ApiNeighbor["bfd"]>, at: string, spellings: Spellings) {
  return { ...same, ...defined({ minimumTtl: spellings.either(at, ["minimumTtl", minimumTtl], ["minimumTTL", minimumTTL]) }) };
}

/** In v0.1 an L2VNI without `vrf` is in a VRF of its own name, in v0.2 it is in none. */
export function readL2VNI(object: L2VNI): RouterObject<L2VNISpec> {
  const spellings = new Spellings(object.metadata.annotations);
  readAddressFamily(object.spec, spellings);
  const { reading } = spellings;
  const { vrf, l2gatewayips } = object.spec;
  if (vrf || reading.api === "v0.1") return { ...object, reading };
  if (l2gatewayips?.length) spellings.problem("spec.l2gatewayips", "An L2VNI without vrf has no gateway; set vrf, or remove l2gatewayips");
  return { ...object, spec: { ...object.spec, disconnected: true }, reading: spellings.reading };
}

/** Read as v0.1 although other objects are of v0.2, where they would be in no VRF. */
export function unclearL2VNIs({ underlays, l2vnis, l3vnis, passthroughs }: RouterObjects): RouterObject<L2VNISpec>[] {
  if (![...underlays, ...l2vnis, ...l3vnis, ...passthroughs].some(({ reading }) => reading?.api === "v0.2")) return [];
  return l2vnis.filter(
    ({ metadata, spec, reading }) => !spec.vrf && reading?.api === "v0.1" && metadata.annotations?.[apiAnnotation] === undefined,
  );
}

export const UNCLEAR_VRF = `Read as v0.1, in a VRF of its own name, although other objects are of v0.2: set vrf, or annotation ${apiAnnotation}: v0.2 for an L2VNI in no VRF`;

/** The VRF that it belongs to; none if it is disconnected. */
export function vrfOfL2VNI(object: L2VNI): string | undefined {
  return vrfOf(object.metadata.name, readL2VNI(object).spec);
}

export function readL3VNI(object: L3VNI): RouterObject<L3VNISpec> {
  const spellings = new Spellings(object.metadata.annotations);
  readAddressFamily(object.spec, spellings);
  readHostSession(object.spec.hostsession, spellings);
  return { ...object, reading: spellings.reading };
}

export function readPassthrough(object: L3Passthrough): RouterObject<PassthroughSpec> {
  const spellings = new Spellings(object.metadata.annotations);
  readHostSession(object.spec.hostsession, spellings);
  return { ...object, reading: spellings.reading };
}

function readHostSession(session: HostSession | undefined, spellings: Spellings): void {
  if (session?.hosttype) spellings.newer("spec.hostsession.hosttype");
}

/** It is the same in all versions. */
function readRawConfig(object: RawFRRConfig): RouterObject<RawFRRConfig["spec"]> {
  return { ...object, reading: new Spellings(object.metadata.annotations).reading };
}

function readAddressFamily({ underlayAddressFamily: family }: L2VNISpec | L3VNISpec, spellings: Spellings): void {
  if (family !== undefined) spellings.newer("spec.underlayAddressFamily");
  if (family === "ipv6") spellings.problem("spec.underlayAddressFamily", IPV6_VTEP);
}

function defined<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

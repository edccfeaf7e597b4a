import { seconds } from "../../util/duration.ts";
import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { interfaceNameProblem } from "../../hostnet/interface-name.ts";
import { type Address, parseAddress } from "../../ip/address.ts";
import { IpError, quote } from "../../ip/error.ts";
import { scopeOf } from "../../ip/scope.ts";
import type { Claim } from "../../resilience/claim.ts";
import type { Peer, Profile } from "./config.ts";
import type { ConfigObjects } from "./objects.ts";
import type { RuleId } from "./rules.ts";
import { quoteIfUnsafe } from "./communities.ts";
import type { ConfigProblem, ParseResult, ResourceVersion } from "./field-error.ts";
import { selectorConfigProblems } from "./selectors.ts";
import { readTimers } from "./timers.ts";
import type { Secret } from "../../api/core/secret.ts";
import { passwordProblem } from "../../frr/render-neighbor.ts";

type Spec = BGPPeer["spec"];

export interface PeerContext extends Pick<ConfigObjects, "secret"> {
  readonly profiles: ReadonlyMap<string, Profile>;
  /** All profiles, also invalid ones. */
  readonly profileNames: ReadonlySet<string>;
}

/** What the last good version of a peer resolved, in case it is deleted. */
export interface PeerResolved {
  readonly password?: string;
  readonly profile?: Profile;
}

/** A peer, and its last good profile if that is gone. */
export interface ParsedPeer {
  readonly peer: Peer;
  readonly lostProfile?: Profile;
}

export function readPeer(written: ResourceVersion<Spec>, context: PeerContext, lastResolved?: PeerResolved): ParseResult<ParsedPeer> {
  const { name, generation, spec } = written;
  const problemOf = (rule: RuleId, field: string, problem: string): ConfigProblem => ({
    rule,
    field: `spec.${field}`,
    message: `parsing peer ${name} ${problem}`,
  });
  const asn = readAsns(spec, problemOf);
  const address = readAddress(spec.peerAddress, (text) => problemOf("P6", "peerAddress", `invalid BGPPeer address ${quote(text)}`));
  const source = readAddress(spec.sourceAddress, (text) => problemOf("P6", "sourceAddress", `invalid source IP ${quote(text)}`));
  const routerId = readAddress(spec.routerID, (text) => problemOf("P6", "routerID", `invalid router ID ${quote(text)}`), 4);
  const { problems: timerProblems, timers } = readTimers(name, spec);
  const connect = readConnectTime(spec.connectTime, problemOf);
  const password = readPassword(written, (secret) => context.secret(secret));
  const profile = readProfileReference(written, context);

  const own: ConfigProblem[] = [
    ...asn.problems,
    ...address.problems,
    ...source.problems,
    ...sourceProblems(source.address, address.address, problemOf),
    ...routerId.problems,
    ...timerProblems,
    ...connect.problems,
    ...addressProblems(spec, problemOf),
    ...numberProblems(spec, problemOf),
    ...selectorConfigProblems(spec.nodeSelectors, {
      field: "spec.nodeSelectors",
      duplicate: "P7",
      malformed: "P8",
      prefix: `parsing peer ${name} `,
      context: () => `failed to convert peer ${name} node selector`,
    }),
  ];
  // The last good version of a peer keeps its password and profile when they are gone now.
  const references = [...("problem" in password ? [password.problem] : []), ...("problem" in profile ? [profile.problem] : [])];
  const problems = lastResolved ? own : [...own, ...references];
  const claims = neighborClaims(spec);
  if (problems.length > 0 || asn.peerAsn === undefined) return { problems, claims };
  if ("unread" in password && !lastResolved) return { problems, claims, unread: password.unread };

  const sessionPassword = "problem" in password || "unread" in password ? lastResolved?.password : password.password;
  const lostProfile = "problem" in profile ? lastResolved?.profile : undefined;
  const foundProfile = "problem" in profile ? lostProfile : profile.profile;
  const peer: Peer = {
    name,
    generation,
    myAsn: spec.myASN,
    peerAsn: asn.peerAsn,
    ...(spec.localASN && { localAsn: spec.localASN }),
    ...(address.address && { address: address.address }),
    ...(spec.interface && { interface: spec.interface }),
    ...(source.address && { sourceAddress: source.address }),
    ...(spec.peerPort && { port: spec.peerPort }),
    ...(timers && { timers }),
    ...(connect.value !== undefined && { connectTime: connect.value }),
    ...(routerId.address && { routerId: routerId.address.toString() }),
    nodeSelectors: spec.nodeSelectors ?? [],
    ...(sessionPassword !== undefined && { password: sessionPassword }),
    ...(foundProfile && { bfdProfile: foundProfile.name }),
    gracefulRestart: spec.enableGracefulRestart ?? false,
    ebgpMultiHop: spec.ebgpMultiHop ?? false,
    vrf: spec.vrf ?? "",
    families: familiesOf(address.address, spec.dualStackAddressFamily ?? false),
  };
  const resolved: PeerResolved = {
    ...(sessionPassword !== undefined && { password: sessionPassword }),
    ...(foundProfile && { profile: foundProfile }),
  };
  return { problems, claims, value: { peer, ...(lostProfile && { lostProfile }) }, resolved };
}

type ProblemOf = (rule: RuleId, field: string, problem: string) => ConfigProblem;

function readAsns(spec: Spec, problemOf: ProblemOf): { problems: ConfigProblem[]; peerAsn: Peer["peerAsn"] | undefined } {
  const { myASN, peerASN = 0, dynamicASN } = spec;
  const dynamic: string = dynamicASN ?? "";
  const known = dynamic === "internal" || dynamic === "external";
  const problems: ConfigProblem[] = [];
  if (!myASN) problems.push(problemOf("P1", "myASN", "missing local ASN"));
  if (!peerASN && !dynamic) problems.push(problemOf("P2", "peerASN", "missing peer ASN and dynamicASN"));
  if (peerASN && dynamic) problems.push(problemOf("P2", "dynamicASN", "both peer ASN and dynamicASN specified"));
  if (dynamic && !known) problems.push(problemOf("P2", "dynamicASN", `invalid dynamicASN ${quoteIfUnsafe(dynamic)}`));
  if (spec.ebgpMultiHop && (dynamic ? dynamic === "internal" : peerASN !== 0 && peerASN === myASN)) {
    problems.push(problemOf("P3", "ebgpMultiHop", "invalid ebgp-multihop parameter set for an ibgp peer"));
  }
  return { problems, peerAsn: known ? dynamic : peerASN || undefined };
}

function readAddress(
  text: string | undefined,
  problemOf: (text: string) => ConfigProblem,
  family?: 4,
): { problems: ConfigProblem[]; address?: Address } {
  if (!text) return { problems: [] };
  try {
    const parsed = parseAddress(text);
    const address = parsed.mappedIPv4 ?? parsed;
    const fits = family ? address.family === family && address.value !== 0n : isHost(address);
    return fits ? { problems: [], address } : { problems: [problemOf(text)] };
  } catch (error) {
    if (error instanceof IpError) return { problems: [problemOf(text)] };
    throw error;
  }
}

/** Neither unspecified nor multicast. */
function isHost(address: Address): boolean {
  return !["unspecified", "multicast"].includes(scopeOf(address));
}

/** The source address must have the family of the peer address. */
function sourceProblems(source: Address | undefined, address: Address | undefined, problemOf: ProblemOf): ConfigProblem[] {
  if (!source || !address || source.family === address.family) return [];
  return [problemOf("P6", "sourceAddress", `invalid source IP ${quote(source.toString())}: the peer has the other address family`)];
}

const LONGEST = 65_535;

function readConnectTime(text: string | undefined, problemOf: ProblemOf): { problems: ConfigProblem[]; value?: number } {
  if (text === undefined) return { problems: [] };
  const value = seconds(text);
  if (value !== undefined && Number.isInteger(value) && value >= 1 && value <= LONGEST) return { problems: [], value };
  return { problems: [problemOf("P11", "connectTime", `invalid connectTime ${quote(text)}: must be in 1s-${LONGEST}s range`)] };
}

function addressProblems({ peerAddress, interface: device, vrf }: Spec, problemOf: ProblemOf): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (!peerAddress && !device) problems.push(problemOf("P4", "peerAddress", "peer has no Address or Interface specified"));
  if (peerAddress && device) problems.push(problemOf("P4", "interface", "peer has both Address and Interface specified"));
  const deviceProblem = device ? interfaceNameProblem(device) : undefined;
  if (device && deviceProblem) problems.push(problemOf("P12", "interface", `invalid interface ${quote(device)}: it ${deviceProblem}`));
  const problem = vrf ? vrfProblem(vrf) : undefined;
  if (vrf && problem) problems.push(problemOf("P12", "vrf", `invalid vrf ${quote(vrf)}: it ${problem}`));
  return problems;
}

const AS_NUMBER = 4_294_967_295;

function numberProblems(spec: Spec, problemOf: ProblemOf): ConfigProblem[] {
  const limits = [
    ["myASN", 1, AS_NUMBER],
    ["peerASN", 1, AS_NUMBER],
    ["localASN", 1, AS_NUMBER],
    ["peerPort", 1, 65_535],
  ] as const;
  return limits.flatMap(([field, min, max]) => {
    const value = spec[field];
    // 0 counts as unset, and a missing value is reported elsewhere.
    if (!value || (Number.isInteger(value) && value >= min && value <= max)) return [];
    return [problemOf("P11", field, `invalid ${field} ${value}: must be in ${min}-${max} range`)];
  });
}

function readProfileReference(
  { name, spec: { bfdProfile } }: ResourceVersion<Spec>,
  { profiles, profileNames }: PeerContext,
): { profile?: Profile } | { problem: ConfigProblem } {
  if (!bfdProfile) return {};
  const profile = profiles.get(bfdProfile);
  if (profile) return { profile };
  const message = profileNames.has(bfdProfile)
    ? `peer ${name} referencing bfd profile ${quoteIfUnsafe(bfdProfile)}, which is not valid`
    : `peer ${name} referencing non existing bfd profile ${quoteIfUnsafe(bfdProfile)}`;
  return { problem: { rule: "T2", field: "spec.bfdProfile", message } };
}

function familiesOf(address: Address | undefined, dualStack: boolean): Peer["families"] {
  if (!address || dualStack) return ["IPv4", "IPv6"];
  return address.family === 4 ? ["IPv4"] : ["IPv6"];
}

/** How FRR identifies a session: the peer's address or interface, and the VRF. */
export function peerId({ peerAddress, interface: device, vrf }: Spec): string {
  const { address } = readAddress(peerAddress, () => ({ rule: "P6", field: "", message: "" }));
  const neighbor = address?.toString() ?? quoteIfUnsafe(peerAddress || device || "");
  return vrf ? `${neighbor}-${quoteIfUnsafe(vrf)}` : neighbor;
}

export function neighborClaims(spec: Spec): Claim[] {
  const { problems, address } = readAddress(spec.peerAddress, () => ({ rule: "P6", field: "", message: "" }));
  const usable = address !== undefined || (problems.length === 0 && spec.interface && !interfaceNameProblem(spec.interface));
  if (!usable || (spec.vrf && vrfProblem(spec.vrf))) return [];
  const id = peerId(spec);
  return [{ key: `neighbor/${id}`, field: address ? "spec.peerAddress" : "spec.interface", subject: id }];
}

/** Values that all peers of a node must share: the AS number of a VRF, and the router id. */
export interface SharedValue {
  readonly scope: string;
  readonly key: string;
  readonly rule: "F1" | "F3";
  readonly field: string;
}

export function sharedValuesOf(spec: Spec): SharedValue[] {
  const { address: id } = readAddress(spec.routerID, () => ({ rule: "P6", field: "", message: "" }), 4);
  // An unreadable router ID is not the same as none, and is never shared.
  const routerId = spec.routerID ? id?.toString() : "none";
  // FRR's name for the main table, which is why no VRF may have it.
  const vrf = spec.vrf || "default";
  const asn = { scope: `asn/${vrf}`, key: `asn/${vrf}/${spec.myASN}`, rule: "F3", field: "spec.myASN" } as const;
  return [
    ...(spec.myASN && !(spec.vrf && vrfProblem(spec.vrf)) ? [asn] : []),
    ...(routerId === undefined ? [] : [{ scope: "router-id", key: `router-id/${routerId}`, rule: "F1", field: "spec.routerID" } as const]),
  ];
}

/** As for an interface, and without FRR's keywords. */
function vrfProblem(name: string): string | undefined {
  return ["default", "all"].includes(name) ? "is reserved by FRR" : interfaceNameProblem(name);
}

const TYPE = "kubernetes.io/basic-auth";
const FIELD = "spec.passwordSecret.name";

type Password = { readonly password?: string } | { readonly problem: ConfigProblem } | { readonly unread: string };

/** The password of the session, if any. It never appears in a message. */
function readPassword(peer: ResourceVersion<BGPPeer["spec"]>, secretNamed: ConfigObjects["secret"]): Password {
  const { name, namespace, spec } = peer;
  const reference = spec.passwordSecret?.name ?? "";
  const prefix = `parsing peer ${name}`;
  if (spec.password && reference) {
    const message = `${prefix} can not have both password and secret ref set in peer config ${quote(namespace)}/${quote(name)}`;
    return { problem: { rule: "P9", field: "spec.passwordSecret", message } };
  }
  if (spec.password) {
    const problem = passwordProblem(spec.password);
    if (problem) return { problem: { rule: "P13", field: "spec.password", message: `${prefix} password ${problem}` } };
    return { password: spec.password };
  }
  if (reference === "") return {};

  const problemOf = (rule: ConfigProblem["rule"], cause: string): Password => ({
    problem: { rule, field: FIELD, message: `${prefix} ${cause}\nfailed to parse peer ${name} password secret` },
  });
  const secret = secretNamed(reference);
  if (secret === "unreadable") return { unread: reference };
  const secretText = `${quote(secret?.metadata.namespace ?? namespace)}/${quote(reference)}`;
  if (!secret) return problemOf("T1", `secret ref not found for peer config ${quote(namespace)}/${quote(name)}`);
  // The space before the line's end is in the text that users know.
  if (secret.type !== TYPE) return problemOf("V1", `secret type mismatch on ${secretText}, type "${TYPE}" is expected `);
  const password = passwordIn(secret);
  if (password === undefined) return problemOf("V2", `password not specified in the secret ${secretText}`);
  const problem = password === "" ? undefined : passwordProblem(password);
  if (problem) return problemOf("V4", `password in the secret ${secretText} ${problem}`);
  return password === "" ? {} : { password };
}

function passwordIn({ data, stringData }: Secret): string | undefined {
  const encoded = data?.["password"];
  return stringData?.["password"] ?? (encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8"));
}

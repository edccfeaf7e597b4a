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
import { quotedIfNeeded } from "./communities.ts";
import type { ConfigProblem, ParseResult, ResourceForm } from "./field-error.ts";
import { vrfProblem } from "./names.ts";
import { readPassword } from "./password.ts";
import { selectorConfigProblems } from "./selectors.ts";
import { readTimers } from "./timers.ts";

type Spec = BGPPeer["spec"];

/** What a peer refers to. */
export interface PeerContext extends Pick<ConfigObjects, "secret"> {
  /** Those in effect. */
  readonly profiles: ReadonlyMap<string, Profile>;
  /** The names of all there are. */
  readonly profileNames: ReadonlySet<string>;
}

/** What a peer had when it was last good, for the day on which it is gone. */
export interface PeerResolved {
  readonly password?: string;
  readonly profile?: Profile;
}

/** A peer, and its profile as it was where that is gone. */
export interface ParsedPeer {
  readonly peer: Peer;
  readonly lostProfile?: Profile;
}

export function readPeer(written: ResourceForm<Spec>, ground: PeerContext, remembered?: PeerResolved): ParseResult<ParsedPeer> {
  const { name, generation, spec } = written;
  const say = (rule: RuleId, field: string, problem: string): ConfigProblem => ({
    rule,
    field: `spec.${field}`,
    message: `parsing peer ${name} ${problem}`,
  });
  const asn = readAsns(spec, say);
  const address = readAddress(spec.peerAddress, (text) => say("P6", "peerAddress", `invalid BGPPeer address ${quote(text)}`));
  const source = readAddress(spec.sourceAddress, (text) => say("P6", "sourceAddress", `invalid source IP ${quote(text)}`));
  const routerId = readAddress(spec.routerID, (text) => say("P6", "routerID", `invalid router ID ${quote(text)}`), 4);
  const { complaints: timerProblems, timers } = readTimers(name, spec);
  const connect = readConnectTime(spec.connectTime, say);
  const password = readPassword(written, (secret) => ground.secret(secret));
  const profile = readProfileReference(written, ground);

  const own: ConfigProblem[] = [
    ...asn.complaints,
    ...address.complaints,
    ...source.complaints,
    ...strangeSource(source.address, address.address, say),
    ...routerId.complaints,
    ...timerProblems,
    ...connect.complaints,
    ...placeProblems(spec, say),
    ...numberProblems(spec, say),
    ...selectorConfigProblems(spec.nodeSelectors, {
      field: "spec.nodeSelectors",
      duplicate: "P7",
      malformed: "P8",
      prefix: `parsing peer ${name} `,
      context: () => `failed to convert peer ${name} node selector`,
    }),
  ];
  // The last good version of a peer keeps its password and profile when they are gone now.
  const references = [...("complaint" in password ? [password.complaint] : []), ...("complaint" in profile ? [profile.complaint] : [])];
  const problems = remembered ? own : [...own, ...references];
  const claims = neighborClaims(spec);
  if (problems.length > 0 || asn.peerAsn === undefined) return { complaints: problems, claims };
  if ("unread" in password && !remembered) return { complaints: problems, claims, unread: password.unread };

  const secretWord = "complaint" in password || "unread" in password ? remembered?.password : password.password;
  const lostProfile = "complaint" in profile ? remembered?.profile : undefined;
  const foundProfile = "complaint" in profile ? lostProfile : profile.profile;
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
    ...(secretWord !== undefined && { password: secretWord }),
    ...(foundProfile && { bfdProfile: foundProfile.name }),
    gracefulRestart: spec.enableGracefulRestart ?? false,
    ebgpMultiHop: spec.ebgpMultiHop ?? false,
    vrf: spec.vrf ?? "",
    families: familiesOf(address.address, spec.dualStackAddressFamily ?? false),
  };
  const resolved: PeerResolved = {
    ...(secretWord !== undefined && { password: secretWord }),
    ...(foundProfile && { profile: foundProfile }),
  };
  return { complaints: problems, claims, value: { peer, ...(lostProfile && { lostProfile }) }, resolved };
}

type Say = (rule: RuleId, field: string, problem: string) => ConfigProblem;

function readAsns(spec: Spec, say: Say): { complaints: ConfigProblem[]; peerAsn: Peer["peerAsn"] | undefined } {
  const { myASN, peerASN = 0, dynamicASN } = spec;
  const dynamic: string = dynamicASN ?? "";
  const known = dynamic === "internal" || dynamic === "external";
  const problems: ConfigProblem[] = [];
  if (!myASN) problems.push(say("P1", "myASN", "missing local ASN"));
  if (!peerASN && !dynamic) problems.push(say("P2", "peerASN", "missing peer ASN and dynamicASN"));
  if (peerASN && dynamic) problems.push(say("P2", "dynamicASN", "both peer ASN and dynamicASN specified"));
  if (dynamic && !known) problems.push(say("P2", "dynamicASN", `invalid dynamicASN ${quotedIfNeeded(dynamic)}`));
  if (spec.ebgpMultiHop && (dynamic ? dynamic === "internal" : peerASN !== 0 && peerASN === myASN)) {
    problems.push(say("P3", "ebgpMultiHop", "invalid ebgp-multihop parameter set for an ibgp peer"));
  }
  return { complaints: problems, peerAsn: known ? dynamic : peerASN || undefined };
}

function readAddress(
  text: string | undefined,
  complain: (text: string) => ConfigProblem,
  family?: 4,
): { complaints: ConfigProblem[]; address?: Address } {
  if (!text) return { complaints: [] };
  try {
    const parsed = parseAddress(text);
    const address = parsed.mappedIPv4 ?? parsed;
    const fits = family ? address.family === family && address.value !== 0n : isHost(address);
    return fits ? { complaints: [], address } : { complaints: [complain(text)] };
  } catch (error) {
    if (error instanceof IpError) return { complaints: [complain(text)] };
    throw error;
  }
}

/** Neither unspecified nor multicast. */
function isHost(address: Address): boolean {
  return !["unspecified", "multicast"].includes(scopeOf(address));
}

/** A session of one family cannot begin at an address of the other. */
function strangeSource(source: Address | undefined, address: Address | undefined, say: Say): ConfigProblem[] {
  if (!source || !address || source.family === address.family) return [];
  return [say("P6", "sourceAddress", `invalid source IP ${quote(source.toString())}: the peer has the other address family`)];
}

const LONGEST = 65_535;

function readConnectTime(text: string | undefined, say: Say): { complaints: ConfigProblem[]; value?: number } {
  if (text === undefined) return { complaints: [] };
  const value = seconds(text);
  if (value !== undefined && Number.isInteger(value) && value >= 1 && value <= LONGEST) return { complaints: [], value };
  return { complaints: [say("P11", "connectTime", `invalid connectTime ${quote(text)}: must be in 1s-${LONGEST}s range`)] };
}

function placeProblems({ peerAddress, interface: device, vrf }: Spec, say: Say): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (!peerAddress && !device) problems.push(say("P4", "peerAddress", "peer has no Address or Interface specified"));
  if (peerAddress && device) problems.push(say("P4", "interface", "peer has both Address and Interface specified"));
  const deviceProblem = device ? interfaceNameProblem(device) : undefined;
  if (device && deviceProblem) problems.push(say("P12", "interface", `invalid interface ${quote(device)}: it ${deviceProblem}`));
  const problem = vrf ? vrfProblem(vrf) : undefined;
  if (vrf && problem) problems.push(say("P12", "vrf", `invalid vrf ${quote(vrf)}: it ${problem}`));
  return problems;
}

const AS_NUMBER = 4_294_967_295;

function numberProblems(spec: Spec, say: Say): ConfigProblem[] {
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
    return [say("P11", field, `invalid ${field} ${value}: must be in ${min}-${max} range`)];
  });
}

function readProfileReference(
  { name, spec: { bfdProfile } }: ResourceForm<Spec>,
  { profiles, profileNames }: PeerContext,
): { profile?: Profile } | { complaint: ConfigProblem } {
  if (!bfdProfile) return {};
  const profile = profiles.get(bfdProfile);
  if (profile) return { profile };
  const message = profileNames.has(bfdProfile)
    ? `peer ${name} referencing bfd profile ${quotedIfNeeded(bfdProfile)}, which is not valid`
    : `peer ${name} referencing non existing bfd profile ${quotedIfNeeded(bfdProfile)}`;
  return { complaint: { rule: "T2", field: "spec.bfdProfile", message } };
}

function familiesOf(address: Address | undefined, dualStack: boolean): Peer["families"] {
  if (!address || dualStack) return ["IPv4", "IPv6"];
  return address.family === 4 ? ["IPv4"] : ["IPv6"];
}

/** How FRR identifies a session: the peer's address or interface, and the VRF. */
export function peerId({ peerAddress, interface: device, vrf }: Spec): string {
  const { address } = readAddress(peerAddress, () => ({ rule: "P6", field: "", message: "" }));
  const place = address?.toString() ?? quotedIfNeeded(peerAddress || device || "");
  return vrf ? `${place}-${quotedIfNeeded(vrf)}` : place;
}

export function neighborClaims(spec: Spec): Claim[] {
  const { complaints, address } = readAddress(spec.peerAddress, () => ({ rule: "P6", field: "", message: "" }));
  const usable = address !== undefined || (complaints.length === 0 && spec.interface && !interfaceNameProblem(spec.interface));
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
  // What cannot be read is not the same as none, and agrees to nothing.
  const routerId = spec.routerID ? id?.toString() : "none";
  // FRR's name for the main table, which is why no VRF may have it.
  const vrf = spec.vrf || "default";
  const asn = { scope: `asn/${vrf}`, key: `asn/${vrf}/${spec.myASN}`, rule: "F3", field: "spec.myASN" } as const;
  return [
    ...(spec.myASN && !(spec.vrf && vrfProblem(spec.vrf)) ? [asn] : []),
    ...(routerId === undefined ? [] : [{ scope: "router-id", key: `router-id/${routerId}`, rule: "F1", field: "spec.routerID" } as const]),
  ];
}

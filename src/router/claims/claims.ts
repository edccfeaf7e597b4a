import type { HostSession, L2VNISpec, L3VNISpec, PassthroughSpec } from "../model/specs.ts";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { Underlay } from "../../api/openpe/underlay.ts";
import { IpError } from "../../ip/error.ts";
import { parseMaskedPrefix, type Prefix } from "../../ip/prefix.ts";
import type { Claim } from "../../resilience/claim.ts";
import { readL2VNI } from "../dialects/read-objects.ts";
import { vniLinkNames, vrfOf } from "../validate/names.ts";

/** Between equal ages the first kind wins. */
export const kindOrder = ["Underlay", "L3VNI", "L2VNI", "L3Passthrough"] as const;

export type ClaimOwner =
  | { readonly kind: "Underlay"; readonly object: Underlay }
  | { readonly kind: "L2VNI"; readonly object: L2VNI }
  | { readonly kind: "L3VNI"; readonly object: L3VNI }
  | { readonly kind: "L3Passthrough"; readonly object: L3Passthrough };

/** `asn` is that of the node's Underlay. */
export function claimsOf({ kind, object }: ClaimOwner, asn: number | undefined): Claim[] {
  if (kind === "L2VNI") return l2vniClaims(object.metadata.name, readL2VNI(object).spec);
  if (kind === "L3VNI") return l3vniClaims(object.spec, asn);
  return kind === "L3Passthrough" ? passthroughClaims(object.spec) : underlayClaims();
}

export function underlayClaims(): Claim[] {
  return [{ key: "underlay", field: "spec.nodeSelector", subject: "A second Underlay on the node" }];
}

export function passthroughClaims({ hostsession }: PassthroughSpec): Claim[] {
  return [
    { key: "passthrough", field: "spec.nodeSelector", subject: "A second L3Passthrough on the node" },
    { key: `link/${PASSTHROUGH_LINK}`, field: "spec.nodeSelector", subject: `Link name ${PASSTHROUGH_LINK}`, follows: "passthrough" },
    ...localPrefixes(hostsession).map(sessionClaim),
  ];
}

export function l2vniClaims(name: string, spec: L2VNISpec): Claim[] {
  const vrf = vrfOf(name, spec);
  const { vni, l2gatewayips = [] } = spec;
  const gateways = vrf === undefined ? [] : l2gatewayips.flatMap((text) => prefixes(text, "spec.l2gatewayips"));
  return [
    vniClaim(vni),
    ...(vrf === undefined ? [] : vrfNameClaim(vrf)),
    ...linkClaims(vni, { veth: true }),
    automaticImport(vni),
    ...gateways.map((gateway) => subnetClaim(vrf ?? "", gateway)),
  ];
}

/** `asn` is that of the node's Underlay, which the VRF has unless a session gives it another. Without it there is no automatic route target yet. */
export function l3vniClaims({ vrf, vni, hostsession, exportRTs = [], importRTs = [] }: L3VNISpec, asn: number | undefined): Claim[] {
  const local = hostsession ? localPrefixes(hostsession) : [];
  const automatic = automaticTarget(hostsession?.asn ?? asn, vni);
  const exported = exportRTs.flatMap(targetIn);
  // FRR ignores a configured target that is the automatic one, and then matches any AS.
  const importsAutomatically = importRTs.every((text) => targetIn(text).some((target) => target.text === automatic?.text));
  return [
    vniClaim(vni),
    ...vrfNameClaim(vrf),
    ...linkClaims(vni, { veth: hostsession !== undefined }),
    { key: `vrf/${vrf}`, field: "spec.vrf", subject: `VRF ${vrf}` },
    ...(exportRTs.length > 0
      ? exported.map((target) => exportClaim(target, "spec.exportRTs"))
      : automatic
        ? [{ ...exportClaim(automatic, "spec.vni"), follows: vniClaim(vni).key }]
        : []),
    ...(importsAutomatically ? [automaticImport(vni)] : []),
    ...exported.filter(({ number }) => number !== vni && isVni(number)).map(importedElsewhere),
    ...local.map(sessionClaim),
    ...local.map((subnet) => subnetClaim(vrf, subnet)),
  ];
}

const PASSTHROUGH_LINK = "pt-ns";

function linkClaims(vni: number, has: { veth: boolean }): Claim[] {
  return vniLinkNames(vni, has).map((name) => ({
    key: `link/${name}`,
    field: "spec.vni",
    subject: `Link name ${name} of VNI ${vni}`,
    follows: vniClaim(vni).key,
  }));
}

/** A VRF is also a link, shared by all resources of the VRF. Claimed only if another link could have the name. */
function vrfNameClaim(vrf: string): Claim[] {
  if (vrf !== PASSTHROUGH_LINK && !/^(vni|br-pe-|pe-)[1-9][0-9]*$/.test(vrf)) return [];
  return [{ key: `link/${vrf}`, field: "spec.vrf", subject: `VRF name ${vrf}`, shared: true }];
}

function vniClaim(vni: number): Claim {
  return { key: `vni/${vni}`, field: "spec.vni", subject: `VNI ${vni}` };
}

interface RouteTarget {
  readonly text: string;
  readonly number: number;
}

/** As FRR derives it: an AS number of four bytes is cut to its lower two. */
function automaticTarget(asn: number | undefined, vni: number): RouteTarget | undefined {
  return asn === undefined ? undefined : { text: `${asn % 65_536}:${vni}`, number: vni };
}

/** Compared as numbers: 064514:100 equals 64514:100. */
function targetIn(text: string): RouteTarget[] {
  const [, left = "", right = ""] = /^([0-9.]+):([0-9]+)$/.exec(text) ?? [];
  if (right === "") return [];
  return [{ text: `${left.includes(".") ? left : Number(left)}:${Number(right)}`, number: Number(right) }];
}

function exportClaim({ text }: RouteTarget, field: string): Claim {
  return { key: `rt/${text}`, field, subject: `Route target ${text}` };
}

/** Without configured import targets FRR compares only the local part with the VNI, for an L2VNI and an L3VNI alike. */
function automaticImport(vni: number): Claim {
  return { key: `import/${vni}`, field: "spec.vni", subject: importText("*", vni), follows: vniClaim(vni).key };
}

/** Several VRFs may export targets with the same local part, as long as no VNI of that number imports them. */
function importedElsewhere(target: RouteTarget): Claim {
  const { text, number } = target;
  const [left = ""] = text.split(":");
  const { key: follows } = exportClaim(target, "");
  return { key: `import/${number}`, field: "spec.exportRTs", subject: importText(left, number), follows, shared: true };
}

function importText(left: string, vni: number): string {
  return `Route target ${left}:${vni}, which VNI ${vni} imports from any AS,`;
}

function isVni(number: number): boolean {
  return number >= 1 && number <= 16_777_215;
}

interface ClaimedPrefix {
  readonly prefix: Prefix;
  readonly field: string;
}

function subnetClaim(vrf: string, { prefix, field }: ClaimedPrefix): Claim {
  return { key: `subnet/${vrf}`, range: prefix, field, subject: `Subnet ${prefix.toString()} of VRF ${vrf}` };
}

/** The host's end of every session is in one routing table, whatever VRF the router's end is in. */
function sessionClaim({ prefix, field }: ClaimedPrefix): Claim {
  return { key: "session", range: prefix, field, subject: `Session prefix ${prefix.toString()}` };
}

function localPrefixes({ localcidr: { ipv4, ipv6 } }: HostSession): ClaimedPrefix[] {
  const field = "spec.hostsession.localcidr";
  return [...prefixes(ipv4, `${field}.ipv4`), ...prefixes(ipv6, `${field}.ipv6`)];
}

/** Invalid text claims nothing; validation reports it. */
function prefixes(text: string | undefined, field: string): ClaimedPrefix[] {
  try {
    return text ? [{ prefix: parseMaskedPrefix(text), field }] : [];
  } catch (error) {
    if (error instanceof IpError) return [];
    throw error;
  }
}

import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import { BITS, parseAddress } from "../../ip/address.ts";
import { quote } from "../../ip/error.ts";
import { type InterfaceAddress, parseInterfaceAddress } from "../../ip/interface-address.ts";
import { parsePrefix, type Prefix } from "../../ip/prefix.ts";
import { vniLinkNames, vrfOf } from "../claims/claims.ts";
import type { Observed } from "../observed.ts";
import { routeTarget } from "./route-target.ts";
import { type Complaint, complaintIf, numberComplaints } from "./field-error.ts";
import { hostMasterComplaints } from "./host-master.ts";
import { hostSessionComplaints, sessionEnds } from "./host-session.ts";
import { vrfComplaints } from "./names.ts";
import { readInterfaceAddress, unusable } from "./networks.ts";

/** What the node itself adds to the question whether a resource can be set up on it. */
export type Ground = Pick<Observed, "index" | "passwords" | "interfaces" | "nics" | "guarded" | "ovs" | "lastGood">;

/** What the node's Underlay takes for itself. */
interface Surroundings {
  readonly name: string;
  readonly nics: readonly string[];
  readonly neighbors: readonly string[];
  /** Where the tunnels of all nodes end, if that is the Underlay's to say. */
  readonly vteps: Prefix | undefined;
}

export function l2vniComplaints(spec: L2VNI["spec"], name: string, ground: Ground, fabric?: Surroundings): Complaint[] {
  return [
    ...vrfComplaints("spec.vrf", vrfOf(name, spec)),
    ...vrfPlaceComplaints(vrfOf(name, spec), vniLinkNames(spec.vni, { veth: true }), ground, fabric),
    ...tunnelComplaints(spec),
    ...hostMasterComplaints(spec, ground),
    ...gatewayComplaints(spec.l2gatewayips ?? []),
  ];
}

export function l3vniComplaints(spec: L3VNI["spec"], ground: Ground, fabric?: Surroundings): Complaint[] {
  return [
    ...vrfComplaints("spec.vrf", spec.vrf),
    ...vrfPlaceComplaints(spec.vrf, vniLinkNames(spec.vni, { veth: spec.hostsession !== undefined }), ground, fabric),
    ...tunnelComplaints(spec),
    ...(spec.hostsession ? hostSessionComplaints(spec.hostsession, ground) : []),
    ...routeTargetComplaints("exportRTs", spec.exportRTs),
    ...routeTargetComplaints("importRTs", spec.importRTs),
  ];
}

/** It is in the same BGP instance and the same table as the Underlay's neighbors: the way to them must not lead to the host. */
export function passthroughComplaints({ hostsession }: L3Passthrough["spec"], ground: Ground, fabric?: Surroundings): Complaint[] {
  const complaints = hostSessionComplaints(hostsession, ground);
  if (complaints.length > 0 || !fabric) return complaints;
  const { router, host } = ground.interfaces;
  const direct = [...router, ...host]
    .filter(({ name }) => fabric.nics.includes(name))
    .flatMap(({ addresses }) => addresses.map((text) => parseInterfaceAddress(text).prefix));
  return [...sessionEnds(hostsession, ground.index ?? 0)].flatMap(([family, ends]) => {
    const { prefix } = ends.host;
    const field = `spec.hostsession.localcidr.ipv${family}`;
    const { name, vteps } = fabric;
    if (vteps?.overlaps(prefix)) {
      const message = `localcidr.ipv${family} ${prefix.toString()} overlaps the VTEPs ${vteps.toString()} of Underlay ${name}`;
      return [{ field, message }];
    }
    const taken = fabric.neighbors.map(parseAddress).find((neighbor) => {
      if (ends.host.address.equals(neighbor) || ends.router.address.equals(neighbor)) return true;
      return prefix.contains(neighbor) && !direct.some((network) => network.length > prefix.length && network.contains(neighbor));
    });
    return complaintIf(
      taken !== undefined,
      field,
      () => `localcidr.ipv${family} ${prefix.toString()} has ${taken?.toString()} in it, which is a neighbor of Underlay ${name}`,
    );
  });
}

/** FRR takes no longer line over its socket. */
const LONGEST_LINE = 4096;

/** A RawFRRConfig says what it likes, as long as it is text. */
export function rawConfigComplaints({ rawConfig }: RawFRRConfig["spec"]): Complaint[] {
  const field = "spec.rawConfig";
  if (rawConfig.trim() === "") return [{ field, message: "rawConfig is empty" }];
  const complaints: Complaint[] = [];
  for (const [nth, line] of rawConfig.split(/\r?\n/).entries()) {
    if (/[^\P{Cc}\t]|[\u2028\u2029]/u.test(line))
      complaints.push({ field, message: `rawConfig has a control character in line ${nth + 1}` });
    if (line.length > LONGEST_LINE)
      complaints.push({ field, message: `rawConfig has more than ${LONGEST_LINE} characters in line ${nth + 1}` });
  }
  return complaints;
}

function tunnelComplaints({ vni, vxlanport }: { vni: number; vxlanport: number }): Complaint[] {
  return [
    ...numberComplaints("spec.vni", "VNI", vni, 1, 16_777_215),
    ...numberComplaints("spec.vxlanport", "VXLAN port", vxlanport, 1, 65_535),
  ];
}

/** Who else has a link of that name is decided by claims; here it is the resource itself, the Underlay, or what is not ours. */
function vrfPlaceComplaints(vrf: string, own: readonly string[], { interfaces, lastGood }: Ground, fabric?: Surroundings): Complaint[] {
  if (own.includes(vrf)) return [{ field: "spec.vrf", message: `VRF name ${vrf} is also the name of a link of its VNI` }];
  const there = interfaces.router.some(({ name, kind }) => name === vrf && kind !== "vrf");
  const taken = (there && !isOurs(vrf, lastGood)) || (fabric?.nics.includes(vrf) ?? false);
  return complaintIf(taken, "spec.vrf", () => `VRF name ${vrf} is taken by an interface of the router`);
}

/** Whether we created the router's link of that name. */
function isOurs(name: string, lastGood: Ground["lastGood"]): boolean {
  return lastGood
    .values()
    .some(({ form }) => form.links.some((link) => link.place === "router" && link.name === name && link.type !== "nic"));
}

function gatewayComplaints(gateways: readonly string[]): Complaint[] {
  const field = "spec.l2gatewayips";
  const complaints = complaintIf(
    gateways.length > 2,
    field,
    () => `l2gatewayips has ${gateways.length} addresses; at most one IPv4 and one IPv6`,
  );
  const families = gateways.flatMap((text, nth) => {
    const reading = readInterfaceAddress("Gateway", text);
    if ("complaint" in reading) {
      complaints.push({ field: `${field}[${nth}]`, message: reading.complaint });
      return [];
    }
    const why = unusable(reading.value.address) ?? unusableAsGateway(reading.value);
    if (why) complaints.push({ field: `${field}[${nth}]`, message: `Gateway ${text} ${why}` });
    return [reading.value.address.family];
  });
  if (gateways.length === 2 && families.length === 2 && families[0] === families[1]) {
    complaints.push({ field, message: `l2gatewayips ${gateways.join(" and ")} are both IPv${families[0]}; at most one IPv4 and one IPv6` });
  }
  return complaints;
}

/** IPv4 networks that a Linux host accepts neither as a source nor as a next hop. */
const REFUSED_BY_HOSTS = ["0.0.0.0/8", "240.0.0.0/4"].map(parsePrefix);

/** Why no host of the subnet can use the address as its gateway. */
function unusableAsGateway({ address, prefix }: InterfaceAddress): string | undefined {
  const { first, last, length } = prefix;
  const refused = REFUSED_BY_HOSTS.find((network) => network.contains(address));
  if (refused) return `is in ${refused.toString()}, which hosts do not accept`;
  if (length === 0) return "covers every address; use a longer prefix";
  if (length === BITS[address.family]) return "leaves no address for a host; use a shorter prefix";
  if (address.family === 6 || length === 31) return undefined;
  if (address.equals(first)) return `is the network number of ${prefix.toString()}; use another address of the subnet`;
  if (address.equals(last)) return `is the broadcast address of ${prefix.toString()}; use another address of the subnet`;
  return undefined;
}

function routeTargetComplaints(list: "exportRTs" | "importRTs", targets: readonly string[] = []): Complaint[] {
  return targets.flatMap((text, nth) =>
    complaintIf(
      routeTarget(text) === undefined,
      `spec.${list}[${nth}]`,
      () => `Route target ${quote(text)} is not of the form 64514:100, 4200000000:100 or 192.0.2.1:100 with numbers in range`,
    ),
  );
}

import type { L2VNISpec, L3VNISpec, PassthroughSpec } from "../model/specs.ts";
import type { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import { BITS, parseAddress } from "../../ip/address.ts";
import { quote } from "../../ip/error.ts";
import { type InterfaceAddress, parseInterfaceAddress } from "../../ip/interface-address.ts";
import { parsePrefix, type Prefix } from "../../ip/prefix.ts";
import type { ObservedNode } from "../model/observed.ts";
import { routeTarget } from "./route-target.ts";
import { type FieldProblem, problemIf, numberProblems } from "./field-error.ts";
import { hostSessionProblems, sessionAddressPair } from "./host-session.ts";
import { vniLinkNames, vrfFieldProblems, vrfOf, nameProblems } from "./names.ts";
import { readInterfaceAddress, unusable } from "./networks.ts";

/** What the node itself adds to the question whether a resource can be set up on it. */
export type NodeFacts = Pick<ObservedNode, "index" | "passwords" | "interfaces" | "nics" | "guarded" | "ovs" | "lastGood">;

/** What the node's Underlay takes for itself. */
interface Surroundings {
  readonly name: string;
  readonly nics: readonly string[];
  readonly neighbors: readonly string[];
  /** Where the tunnels of all nodes end, if that is the Underlay's to say. */
  readonly vteps: Prefix | undefined;
}

export function l2vniProblems(spec: L2VNISpec, name: string, facts: NodeFacts, fabric?: Surroundings): FieldProblem[] {
  const vrf = vrfOf(name, spec);
  return [
    ...(vrf === undefined ? [] : vrfFieldProblems("spec.vrf", vrf)),
    ...(vrf === undefined ? [] : vrfNameTakenProblems(vrf, vniLinkNames(spec.vni, { veth: true }), facts, fabric)),
    ...tunnelProblems(spec),
    ...hostMasterProblems(spec, facts),
    ...gatewayProblems(spec.l2gatewayips ?? []),
  ];
}

export function l3vniProblems(spec: L3VNISpec, facts: NodeFacts, fabric?: Surroundings): FieldProblem[] {
  return [
    ...vrfFieldProblems("spec.vrf", spec.vrf),
    ...vrfNameTakenProblems(spec.vrf, vniLinkNames(spec.vni, { veth: spec.hostsession !== undefined }), facts, fabric),
    ...tunnelProblems(spec),
    ...(spec.hostsession ? hostSessionProblems(spec.hostsession, facts) : []),
    ...routeTargetProblems("exportRTs", spec.exportRTs),
    ...routeTargetProblems("importRTs", spec.importRTs),
  ];
}

/** It is in the same BGP instance and the same table as the Underlay's neighbors: the way to them must not lead to the host. */
export function passthroughProblems({ hostsession }: PassthroughSpec, facts: NodeFacts, fabric?: Surroundings): FieldProblem[] {
  const problems = hostSessionProblems(hostsession, facts);
  if (problems.length > 0 || !fabric) return problems;
  const { router, host } = facts.interfaces;
  const direct = [...router, ...host]
    .filter(({ name }) => fabric.nics.includes(name))
    .flatMap(({ addresses }) => addresses.map((text) => parseInterfaceAddress(text).prefix));
  return [...sessionAddressPair(hostsession, facts.index ?? 0)].flatMap(([family, ends]) => {
    const { prefix } = ends.host;
    const field = `spec.hostsession.localcidr.ipv${family}`;
    const { name, vteps } = fabric;
    if (vteps?.overlaps(prefix)) {
      const message = `localcidr.ipv${family} ${prefix.toString()} overlaps VTEP prefix ${vteps.toString()} of Underlay ${name}`;
      return [{ field, message }];
    }
    const taken = fabric.neighbors.map(parseAddress).find((neighbor) => {
      if (ends.host.address.equals(neighbor) || ends.router.address.equals(neighbor)) return true;
      return prefix.contains(neighbor) && !direct.some((network) => network.length > prefix.length && network.contains(neighbor));
    });
    return problemIf(
      taken !== undefined,
      field,
      () => `localcidr.ipv${family} ${prefix.toString()} contains ${taken?.toString()}, a neighbor of Underlay ${name}`,
    );
  });
}

/** FRR takes no longer line over its socket. */
const LONGEST_LINE = 4096;

/** A RawFRRConfig says what it likes, as long as it is text. */
export function rawConfigProblems({ rawConfig }: RawFRRConfig["spec"]): FieldProblem[] {
  const field = "spec.rawConfig";
  if (rawConfig.trim() === "") return [{ field, message: "rawConfig is empty" }];
  const problems: FieldProblem[] = [];
  for (const [nth, line] of rawConfig.split(/\r?\n/).entries()) {
    if (/[^\P{Cc}\t]|[\u2028\u2029]/u.test(line)) problems.push({ field, message: `rawConfig has a control character in line ${nth + 1}` });
    if (line.length > LONGEST_LINE)
      problems.push({ field, message: `rawConfig has more than ${LONGEST_LINE} characters in line ${nth + 1}` });
  }
  return problems;
}

function tunnelProblems({ vni, vxlanport }: { vni: number; vxlanport: number }): FieldProblem[] {
  return [
    ...numberProblems("spec.vni", "VNI", vni, 1, 16_777_215),
    ...numberProblems("spec.vxlanport", "VXLAN port", vxlanport, 1, 65_535),
  ];
}

/** Who else has a link of that name is decided by claims; here it is the resource itself, the Underlay, or what is not ours. */
function vrfNameTakenProblems(
  vrf: string,
  own: readonly string[],
  { interfaces, lastGood }: NodeFacts,
  fabric?: Surroundings,
): FieldProblem[] {
  if (own.includes(vrf)) return [{ field: "spec.vrf", message: `VRF name ${vrf} is also a link name of its VNI` }];
  const there = interfaces.router.some(({ name, kind }) => name === vrf && kind !== "vrf");
  const taken = (there && !isOurs(vrf, lastGood)) || (fabric?.nics.includes(vrf) ?? false);
  return problemIf(taken, "spec.vrf", () => `VRF name ${vrf} is already used by an interface of the router`);
}

/** Whether we created the router's link of that name. */
function isOurs(name: string, lastGood: NodeFacts["lastGood"]): boolean {
  return lastGood
    .values()
    .some(({ rendered }) => rendered.links.some((link) => link.netns === "router" && link.name === name && link.type !== "nic"));
}

function gatewayProblems(gateways: readonly string[]): FieldProblem[] {
  const field = "spec.l2gatewayips";
  const problems = problemIf(
    gateways.length > 2,
    field,
    () => `l2gatewayips has ${gateways.length} addresses; at most one IPv4 and one IPv6`,
  );
  const families = gateways.flatMap((text, nth) => {
    const reading = readInterfaceAddress("Gateway", text);
    if ("problem" in reading) {
      problems.push({ field: `${field}[${nth}]`, message: reading.problem });
      return [];
    }
    const why = unusable(reading.value.address) ?? unusableAsGateway(reading.value);
    if (why) problems.push({ field: `${field}[${nth}]`, message: `Gateway ${text} ${why}` });
    return [reading.value.address.family];
  });
  if (gateways.length === 2 && families.length === 2 && families[0] === families[1]) {
    problems.push({ field, message: `l2gatewayips ${gateways.join(" and ")} are both IPv${families[0]}; at most one IPv4 and one IPv6` });
  }
  return problems;
}

/** IPv4 networks that a Linux host accepts neither as a source nor as a next hop. */
const REJECTED_BY_HOSTS = ["0.0.0.0/8", "240.0.0.0/4"].map(parsePrefix);

/** Why no host of the subnet can use the address as its gateway. */
function unusableAsGateway({ address, prefix }: InterfaceAddress): string | undefined {
  const { first, last, length } = prefix;
  const rejected = REJECTED_BY_HOSTS.find((network) => network.contains(address));
  if (rejected) return `is in ${rejected.toString()}, which hosts do not accept`;
  if (length === 0) return "covers every address; use a longer prefix";
  if (length === BITS[address.family]) return "leaves no address for a host; use a shorter prefix";
  if (address.family === 6 || length === 31) return undefined;
  if (address.equals(first)) return `is the network address of ${prefix.toString()}; use another address of the subnet`;
  if (address.equals(last)) return `is the broadcast address of ${prefix.toString()}; use another address of the subnet`;
  return undefined;
}

function routeTargetProblems(list: "exportRTs" | "importRTs", targets: readonly string[] = []): FieldProblem[] {
  return targets.flatMap((text, nth) =>
    problemIf(
      routeTarget(text) === undefined,
      `spec.${list}[${nth}]`,
      () =>
        `Route target ${quote(text)} is invalid; use a format such as 64514:100, 4200000000:100 or 192.0.2.1:100, with numbers in range`,
    ),
  );
}

const FIELD = "spec.hostmaster";
const BODY = { "linux-bridge": "linuxBridge", "ovs-bridge": "ovsBridge" } as const;

/** V6, V7, and whether the bridge is there. */
function hostMasterProblems({ hostmaster }: L2VNISpec, { interfaces, ovs }: Pick<ObservedNode, "interfaces" | "ovs">): FieldProblem[] {
  if (!hostmaster) return [];
  const { type } = hostmaster;
  if (!Object.hasOwn(BODY, type)) {
    return [{ field: `${FIELD}.type`, message: `hostmaster type ${quote(type)} must be linux-bridge or ovs-bridge` }];
  }
  const body = BODY[type];
  const bridge = hostmaster[body];
  const other = type === "linux-bridge" ? "ovsBridge" : "linuxBridge";
  if (!bridge) return [{ field: `${FIELD}.${body}`, message: `hostmaster type ${type} requires ${body}` }];

  const at = `${FIELD}.${body}`;
  const { name, autoCreate } = bridge;
  return [
    ...problemIf(Boolean(hostmaster[other]), `${FIELD}.${other}`, () => `hostmaster type ${type} allows only ${body}`),
    ...problemIf(Number(Boolean(name)) + Number(autoCreate) !== 1, at, () => `${body} requires exactly one of name and autoCreate`),
    ...(name ? namedBridgeProblems(`${at}.name`, name, type, interfaces) : []),
    ...(type === "ovs-bridge" && !ovs
      ? [{ field: `${FIELD}.type`, message: "Open vSwitch does not answer on this node", transient: true } as const]
      : []),
  ];
}

function namedBridgeProblems(field: string, name: string, type: keyof typeof BODY, { host }: ObservedNode["interfaces"]): FieldProblem[] {
  const problems = nameProblems(field, "Bridge", name);
  // A bridge of Open vSwitch is created where it is missing.
  if (problems.length > 0 || type === "ovs-bridge") return problems;
  const there = host.find((one) => one.name === name);
  if (!there) return [{ field, message: `Interface ${name} not present on node`, transient: true }];
  return problemIf(there.kind !== "bridge", field, () => `Interface ${name} is not a bridge`);
}

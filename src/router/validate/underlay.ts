import { allowNodeInterfaceAnnotation } from "../../api/annotations.ts";
import type { UnderlaySpec as Spec } from "../model/specs.ts";
import type { Address } from "../../ip/address.ts";
import { parseInterfaceAddress } from "../../ip/interface-address.ts";
import { routerIdOf, vtepAddress } from "./addresses.ts";
import type { ObservedInterface } from "../model/observed.ts";
import { AS_NUMBER, type FieldProblem, problemIf, numberProblems, type WrittenAs } from "./field-error.ts";
import { nameProblems } from "./names.ts";
import { neighborProblems } from "./neighbors.ts";
import { problemsOf, readAddress, readPrefixOf, type ParsedField, unusable } from "./networks.ts";
import type { NodeFacts } from "./vni.ts";

interface About {
  readonly annotations: Readonly<Record<string, string>>;
  readonly writtenAs?: WrittenAs | undefined;
  /** What is on this node now. */
  readonly live?: Pick<Spec, "nics"> | undefined;
}

/** U2, U4 to U9, and whether the Underlay can stand on this node. */
export function underlayProblems(spec: Spec, { annotations, writtenAs = new Map(), live }: About, facts: NodeFacts): FieldProblem[] {
  const lost = new Set(lostNics(spec, live, facts.interfaces));
  return [
    ...numberProblems("spec.asn", "AS number", spec.asn, AS_NUMBER.min, AS_NUMBER.max),
    ...indexProblems(facts.index),
    ...problemsOf("spec.routeridcidr", routerId(spec, facts.index ?? 0)),
    ...neighborProblems(spec, writtenAs, facts.passwords),
    ...selfProblems(spec, facts),
    ...nicProblems(spec, annotations, facts, lost),
    ...evpnProblems(spec, facts),
  ];
}

function indexProblems(index: number | undefined): FieldProblem[] {
  if (index !== undefined) return [];
  return [{ field: "", message: "Node has no annotation openpe.io/nodeindex yet; the controller sets it", transient: true }];
}

/** These are in a VRF, always. */
const OF_VRF = /^(br-pe-|pe-)[0-9]+$/;

/** FRR rejects itself as a neighbor. An address in a VRF belongs to another router. */
function selfProblems({ neighbors = [], nics = [] }: Spec, { interfaces: { host, router } }: NodeFacts): FieldProblem[] {
  const own = [...router.filter(({ name }) => !OF_VRF.test(name)), ...host.filter(({ name }) => nics.includes(name))].flatMap(
    ({ addresses }) => addresses,
  );
  const addresses = new Set(own.map((text) => text.split("/")[0]));
  return neighbors.flatMap(({ address }, nth) => {
    if (address === undefined) return [];
    const reading = readAddress("", address);
    const text = "value" in reading && !unusable(reading.value) ? reading.value.toString() : "";
    return problemIf(
      addresses.has(text),
      `spec.neighbors[${nth}].address`,
      () => `Neighbor address ${text} is an address of the router itself`,
    );
  });
}

export function routerId({ routeridcidr }: Spec, index: number): ParsedField<Address> {
  const reading = readPrefixOf(4, "routeridcidr", routeridcidr);
  if ("problem" in reading) return reading;
  const id = routerIdOf(reading.value, index);
  return id ? { value: id } : { problem: `routeridcidr ${reading.value.toString()} has no router id for node index ${index}` };
}

/** Interfaces that were live and have vanished while another one is there: each takes only its own neighbors with it. */
export function lostNics({ nics = [] }: Spec, live: Pick<Spec, "nics"> | undefined, { host, router }: NodeFacts["interfaces"]): string[] {
  const isPresent = (nic: string) => named(router, nic) !== undefined || named(host, nic) !== undefined;
  return nics.some(isPresent) ? nics.filter((nic) => !isPresent(nic) && live?.nics?.includes(nic)) : [];
}

function nicProblems(
  { nics = [] }: Spec,
  annotations: Readonly<Record<string, string>>,
  facts: NodeFacts,
  lost: ReadonlySet<string>,
): FieldProblem[] {
  if (nics.length === 0) return [{ field: "spec.nics", message: "The Underlay names no interface; the router requires at least one" }];
  return nics.flatMap((nic, nth) => {
    const field = `spec.nics[${nth}]`;
    if (nics.indexOf(nic) < nth) return [{ field, message: `Interface ${nic} is listed more than once` }];
    return lost.has(nic) ? [] : oneNicProblems(field, nic, annotations, facts);
  });
}

function oneNicProblems(
  field: string,
  nic: string,
  annotations: Readonly<Record<string, string>>,
  { interfaces, guarded }: NodeFacts,
): FieldProblem[] {
  const problems = nameProblems(field, "Interface", nic);
  if (problems.length > 0) return problems;
  if (named(interfaces.router, nic)) return [];
  if (!named(interfaces.host, nic)) return [{ field, message: `Interface ${nic} not present on node`, transient: true }];
  const why = guarded.get(nic);
  return problemIf(
    why !== undefined && annotations[allowNodeInterfaceAnnotation] === undefined,
    field,
    () =>
      `Interface ${nic} ${why}; moving it into the router would cut the node off. Annotate the Underlay with ${allowNodeInterfaceAnnotation} to allow it`,
  );
}

function evpnProblems(spec: Spec, facts: NodeFacts): FieldProblem[] {
  const { evpn } = spec;
  if (!evpn) return [];
  if (Boolean(evpn.vtepcidr) === Boolean(evpn.vtepInterface)) {
    return [{ field: "spec.evpn", message: "evpn requires exactly one of vtepcidr and vtepInterface" }];
  }
  const field = `spec.evpn.${evpn.vtepcidr ? "vtepcidr" : "vtepInterface"}`;
  const problems = evpn.vtepInterface ? nameProblems(field, "Interface", evpn.vtepInterface) : [];
  if (problems.length > 0) return problems;
  const reading = vtepOf(spec, facts);
  if (!reading || "value" in reading) return [];
  return [{ field, message: reading.problem, ...(evpn.vtepInterface && { transient: true as const }) }];
}

export interface Vtep {
  readonly address: Address;
  /** The interface that tunnels leave by. */
  readonly device: string;
  /** Whether the address is ours to put on a device of ours, and to announce. */
  readonly ours: boolean;
}

/** Where this node's tunnels end; nothing without EVPN. */
export function vtepOf({ evpn, nics = [] }: Spec, { index = 0, interfaces }: NodeFacts): ParsedField<Vtep> | undefined {
  if (!evpn) return undefined;
  if (evpn.vtepInterface) return vtepOfInterface(evpn.vtepInterface, nics, interfaces);
  const reading = readPrefixOf(4, "VTEP prefix", evpn.vtepcidr);
  if ("problem" in reading) return reading;
  const address = vtepAddress(reading.value, index);
  if (!address) return { problem: `VTEP prefix ${reading.value.toString()} has no VTEP address for node index ${index}` };
  const why = unusable(address);
  if (why) return { problem: `VTEP prefix ${reading.value.toString()} cannot be used: ${address.toString()} ${why}` };
  return { value: { address, device: "lound", ours: true } };
}

function vtepOfInterface(name: string, nics: readonly string[], { host, router }: NodeFacts["interfaces"]): ParsedField<Vtep> {
  const onHost = named(host, name);
  const there = named(router, name) ?? onHost;
  if (!there) return { problem: `Interface ${name} not present on node` };
  if (there === onHost && !nics.includes(name)) {
    return { problem: `Interface ${name} is not in the router's namespace; only interfaces of the Underlay are moved there` };
  }
  const address = there.addresses
    .map((text) => parseInterfaceAddress(text).address)
    .find((one) => one.family === 4 && unusable(one) === undefined);
  if (!address) return { problem: `Interface ${name} has no IPv4 address` };
  return { value: { address, device: name, ours: false } };
}

function named(interfaces: readonly ObservedInterface[], name: string): ObservedInterface | undefined {
  return interfaces.find((one) => one.name === name);
}

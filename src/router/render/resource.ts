import type { L2VNISpec, L3VNISpec, PassthroughSpec, UnderlaySpec } from "../model/specs.ts";
import { type Family, parseAddress } from "../../ip/address.ts";
import { parseMaskedPrefix, type Prefix } from "../../ip/prefix.ts";
import type { SessionAddresses } from "../validate/addresses.ts";
import { vrfOf } from "../validate/names.ts";
import type { Rendered } from "../model/rendered.ts";
import { l2vniLinks, l3vniLinks, passthroughLinks, underlayLinks } from "./links.ts";
import { isMultipath, l3vniFragment, passthroughFragment, peerName, underlayFragment } from "./frr.ts";
import { sessionAddressPair } from "../validate/host-session.ts";
import { valueOf } from "../validate/networks.ts";
import { passwordOf } from "../validate/neighbors.ts";
import { routerId, type Vtep, vtepOf } from "../validate/underlay.ts";
import type { NodeFacts } from "../validate/vni.ts";

/** Everything else on the node depends on it. */
export interface UnderlayFacts {
  readonly name: string;
  readonly asn: number;
  readonly routerId: string;
  /** Missing without EVPN. */
  readonly vtep: Vtep | undefined;
  readonly index: number;
  /** Interfaces that are, or will be, in the router's namespace. */
  readonly nics: readonly string[];
  readonly neighbors: readonly string[];
  /** Whether there may be several paths to one destination. */
  readonly isMultipath: boolean;
  /** Where the tunnels of all nodes end, where that is not an interface of each. */
  readonly vteps: Prefix | undefined;
}

/** The fabric of an Underlay that nothing is wrong with. */
export function fabricOf(name: string, spec: UnderlaySpec, backends: NodeFacts): UnderlayFacts {
  const index = backends.index ?? 0;
  const vtep = vtepOf(spec, backends);
  return {
    name,
    asn: spec.asn,
    routerId: valueOf(routerId(spec, index)).toString(),
    vtep: vtep && valueOf(vtep),
    index,
    nics: spec.nics ?? [],
    neighbors: (spec.neighbors ?? []).flatMap(({ address }) => (address === undefined ? [] : [parseAddress(address).toString()])),
    isMultipath: isMultipath(spec),
    vteps: spec.evpn?.vtepcidr ? parseMaskedPrefix(spec.evpn.vtepcidr) : undefined,
  };
}

export function renderUnderlay(
  owner: string,
  spec: UnderlaySpec,
  { routerId, vtep }: UnderlayFacts,
  node: NodeFacts & { readonly lost: readonly string[]; readonly unicast: readonly Family[] },
): Rendered {
  const passwords = new Map(
    (spec.neighbors ?? []).flatMap((neighbor) => {
      const password = passwordOf(neighbor, node.passwords);
      return password === undefined ? [] : [[peerName(neighbor), password] as const];
    }),
  );
  const announced = vtep?.ours && { announcedVtep: vtep.address.toString() };
  const fragment = underlayFragment(owner, { spec, routerId, passwords, unicast: node.unicast, ...announced });
  return { fragment, links: underlayLinks(owner, spec, vtep, node) };
}

/** It says nothing to FRR by itself: the L3VNI of its VRF announces its subnets. */
export function renderL2VNI(owner: string, name: string, spec: L2VNISpec, vtep: Vtep): Rendered {
  return { fragment: { owner, lines: [] }, links: l2vniLinks(owner, spec, vrfOf(name, spec), vtep) };
}

export function renderL3VNI(owner: string, spec: L3VNISpec, fabric: UnderlayFacts, vtep: Vtep): Rendered {
  const ends = spec.hostsession ? sessionAddressPair(spec.hostsession, fabric.index) : new Map<Family, SessionAddresses>();
  return { fragment: l3vniFragment(owner, spec, { ...fabric, ends }), links: l3vniLinks(owner, spec, vtep, ends) };
}

export function renderPassthrough(owner: string, spec: PassthroughSpec, { asn, index }: UnderlayFacts): Rendered {
  const ends = sessionAddressPair(spec.hostsession, index);
  return { fragment: passthroughFragment(owner, spec, asn, ends), links: passthroughLinks(owner, ends) };
}

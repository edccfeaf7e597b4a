import type { L2VNI } from "../api/openpe/l2vni.ts";
import type { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../api/openpe/l3vni.ts";
import type { Underlay } from "../api/openpe/underlay.ts";
import type { Family } from "../ip/address.ts";
import type { SessionAddresses } from "./addresses.ts";
import { vrfOf } from "./claims.ts";
import type { Form } from "./form.ts";
import { l2vniLinks, l3vniLinks, passthroughLinks, underlayLinks } from "./links.ts";
import { l3vniFragment, passthroughFragment, underlayFragment } from "./render.ts";
import { type HostSession, sessionLink } from "./validate/host-session.ts";
import { passwordOf } from "./validate/neighbors.ts";
import { routerId, type Vtep, vtepOf } from "./validate/underlay.ts";
import type { Ground } from "./validate/vni.ts";

/** What everything else on the node stands on. */
export interface Fabric {
  readonly name: string;
  readonly asn: number;
  readonly routerId: string;
  /** Missing without EVPN. */
  readonly vtep: Vtep | undefined;
  readonly index: number;
}

/** The fabric of an Underlay that nothing is wrong with. */
export function fabricOf(name: string, spec: Underlay["spec"], ground: Ground): Fabric {
  const index = ground.index ?? 0;
  const vtep = vtepOf(spec, ground);
  return { name, asn: spec.asn, routerId: valueOf(routerId(spec, index)).toString(), vtep: vtep && valueOf(vtep), index };
}

export function underlayForm(owner: string, spec: Underlay["spec"], { routerId, vtep }: Fabric, ground: Ground): Form {
  const passwords = new Map(
    (spec.neighbors ?? []).flatMap((neighbor) => {
      const password = passwordOf(neighbor, ground.passwords);
      return password === undefined ? [] : [[neighbor.address, password] as const];
    }),
  );
  const fragment = underlayFragment(owner, { spec, routerId, passwords, ...(vtep?.ours && { announcedVtep: vtep.address.toString() }) });
  return { fragment, links: underlayLinks(owner, spec, vtep) };
}

/** It says nothing to FRR by itself: the L3VNI of its VRF announces its subnets. */
export function l2vniForm(owner: string, name: string, spec: L2VNI["spec"], vtep: Vtep): Form {
  return { fragment: { owner, lines: [] }, links: l2vniLinks(owner, spec, vrfOf(name, spec), vtep) };
}

export function l3vniForm(owner: string, spec: L3VNI["spec"], fabric: Fabric, vtep: Vtep): Form {
  const ends = spec.hostsession ? endsOf(spec.hostsession, fabric.index) : new Map<Family, SessionAddresses>();
  return { fragment: l3vniFragment(owner, spec, { ...fabric, ends }), links: l3vniLinks(owner, spec, vtep, ends) };
}

export function passthroughForm(owner: string, spec: L3Passthrough["spec"], { asn, index }: Fabric): Form {
  const ends = endsOf(spec.hostsession, index);
  return { fragment: passthroughFragment(owner, spec, asn, ends), links: passthroughLinks(owner, ends) };
}

function endsOf(session: HostSession, index: number): Map<Family, SessionAddresses> {
  const families = ([4, 6] as const).filter((family) => session.localcidr[`ipv${family}`]);
  return new Map(families.map((family) => [family, valueOf(sessionLink(session, family, index))]));
}

function valueOf<T>(reading: { value: T } | { complaint: string }): T {
  if ("value" in reading) return reading.value;
  throw new Error(`a resource with a fault was given a form: ${reading.complaint}`);
}

import type { L2VNISpec, L3VNISpec, UnderlaySpec } from "./model/specs.ts";
import type { Vni } from "../frr/show.ts";
import type { UnderlayPath } from "../hostnet/foreign.ts";
import type { Links } from "../hostnet/snapshot.ts";
import type { DesiredLink } from "../hostnet/desired-link.ts";
import { fingerprint } from "../util/rendezvous-hash.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import type { VniReport } from "./report.ts";
import { routeTarget } from "./validate/route-target.ts";

/** A VNI that is applied on this node, with the links in the router's namespace that it needs. */
export interface LiveVni {
  readonly vni: number;
  readonly type: VniReport["type"];
  readonly vrf: string;
  readonly links: readonly DesiredLink[];
  /** Of an L3 VNI. */
  readonly routes?: VrfRoutes;
}

interface VrfRoutes {
  /**
   * Whether this node announces a prefix of the VRF that no other node announces: the address of its host session. The subnet of an L2VNI comes from every node that has it, so
   * that FRR uses the own route, and learns no router MAC with those of others.
   */
  readonly hasPrefixes: boolean;
  /** Of the route targets with which it announces them, 16 bits. Nodes with the same L3VNI have the same. */
  readonly exports: number;
  /** Whether it imports what others announce with these route targets. */
  readonly importsOwn: boolean;
}

export function liveVnis(lastGood: ReadonlyMap<string, LastGoodResource>): LiveVni[] {
  return [...lastGood].flatMap(([owner, { spec, rendered }]): LiveVni[] => {
    const type = owner.startsWith("L2VNI/") ? "L2" : owner.startsWith("L3VNI/") ? "L3" : undefined;
    if (!type) return [];
    const { vni } = spec as L2VNISpec | L3VNISpec;
    // The BGP session reports the state of a host session's leg; the VNI carries the traffic of its VRF without it.
    const links = rendered.links.filter((link) => link.netns === "router" && !(type === "L3" && link.type === "veth"));
    const vrf = links.find((link) => link.type === "vrf")?.name ?? "default";
    if (type === "L2") return [{ vni, type, vrf, links }];
    return [{ vni, type, vrf, links, routes: routesOf(spec as L3VNISpec) }];
  });
}

function routesOf({ hostsession, exportRTs = [], importRTs = [] }: L3VNISpec): VrfRoutes {
  const [exported, imported] = [exportRTs, importRTs].map((texts) => new Set(texts.flatMap((text) => routeTarget(text) ?? [])));
  // Of those that FRR derives from the VNI only the VNI counts.
  const isAutomatic = (exported?.size ?? 0) === 0;
  return {
    hasPrefixes: hostsession !== undefined,
    exports: (fingerprint([...(exported ?? [])].toSorted().join(" ")) % 0xffff) + 1,
    importsOwn: isAutomatic ? (imported?.size ?? 0) === 0 : exported?.isDisjointFrom(imported ?? new Set()) === false,
  };
}

/** Outer IPv4, UDP and VXLAN headers and the inner Ethernet header. */
const ENCAPSULATION = 50;

/** What the live Underlay sends the packets of the live VNIs with. */
export function underlayPath(lastGood: ReadonlyMap<string, LastGoodResource>, router: Links): UnderlayPath | undefined {
  const [underlay] = [...lastGood].flatMap(([owner, { spec }]) => (owner.startsWith("Underlay/") ? [spec as UnderlaySpec] : []));
  if (!underlay) return undefined;
  const mtus = liveVnis(lastGood).flatMap(({ links }) =>
    links.flatMap(({ type, master = "" }) => (type === "vxlan" ? (router.get(master)?.mtu ?? []) : [])),
  );
  const mtu = Math.max(0, ...mtus.map((inner) => inner + ENCAPSULATION));
  return { nics: underlay.nics ?? [], vteps: underlay.evpn?.vtepcidr, mtu };
}

/** Each VNI as FRR and the kernel have it: up only if both say so. `links` is missing where the kernel could not be read. */
export function vniReports(live: readonly LiveVni[], inFrr: readonly Vni[], links: Links | undefined): VniReport[] {
  const known = new Map(inFrr.map((one) => [one.vni, one]));
  const expected = live.map((one): VniReport => {
    const { vni, type, vrf } = one;
    const { state, macs = 0, vteps = [] } = known.get(vni) ?? {};
    known.delete(vni);
    const report = { vni, type, vrf, macs, vteps: vteps.length };
    const problem = links && problemIn(one, links);
    if (problem !== undefined) return { ...report, state: "Down", message: problem };
    if (state === undefined) return { ...report, state: "Down", message: "not present in FRR" };
    if (state === "Down") return { ...report, state, message: "down in FRR" };
    return links ? { ...report, state } : { ...report, state: "Unknown", message: "Cannot read the links of the router's namespace" };
  });
  // No resource asks for these, or their resource failed half-way.
  const others = [...known.values()].map(({ vni, type, vrf = "default", state, macs, vteps }) => ({
    vni,
    type,
    vrf,
    state,
    macs,
    vteps: vteps.length,
  }));
  return [...expected, ...others].sort((a, b) => a.vni - b.vni);
}

/** Why the kernel forwards nothing for it; the first cause, as one link that is down takes the carrier of others with it. */
function problemIn({ links: wanted }: LiveVni, have: Links): string | undefined {
  for (const { type, name, ...more } of wanted) {
    const link = have.get(name);
    if (!link) return `${linkText(type, name)} is missing`;
    if (!link.up) return `${linkText(type, name)} is down`;
    if ("device" in more && !have.get(more.device)?.up) return `${more.device}, which holds the VTEP address, is down`;
  }
  for (const { type, name, master } of wanted) {
    if (master !== undefined && have.get(name)?.master !== master) return `${linkText(type, name)} is not in ${inside(type, master)}`;
  }
  const carriers = wanted.toSorted((a, b) => Number(a.type === "bridge") - Number(b.type === "bridge"));
  const without = carriers.find(({ name }) => have.get(name)?.noCarrier);
  return without && `${linkText(without.type, without.name)} has no carrier`;
}

function linkText(type: DesiredLink["type"], name: string): string {
  return type === "bridge" ? `bridge ${name}` : type === "vrf" ? `VRF ${name}` : name;
}

function inside(type: DesiredLink["type"], master: string): string {
  return linkText(type === "bridge" ? "vrf" : "bridge", master);
}

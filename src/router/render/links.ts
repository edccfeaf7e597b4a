import type { L2VNISpec, L3VNISpec, UnderlaySpec } from "../model/specs.ts";
import { OVS_MASTER, type DesiredLink } from "../../hostnet/desired-link.ts";
import { parseInterfaceAddress } from "../../ip/interface-address.ts";
import type { SessionPairs } from "./frr.ts";
import type { Vtep } from "../validate/underlay.ts";

/** The links of a node's router, each after those that it depends on. */
export function underlayLinks(
  owner: string,
  { nics = [] }: UnderlaySpec,
  vtep: Vtep | undefined,
  { nics: known, lost }: { readonly nics?: ReadonlyMap<string, readonly string[]>; readonly lost: readonly string[] },
): DesiredLink[] {
  return [
    ...nics.map((name): DesiredLink => {
      const addresses = known?.get(name);
      const optional = lost.includes(name) && { optional: true as const };
      return { type: "nic", netns: "router", name, owner, ...(addresses && { addresses }), ...optional };
    }),
    ...(vtep?.ours
      ? [{ type: "dummy", netns: "router", name: vtep.device, owner, addresses: [`${vtep.address.toString()}/32`] } as const]
      : []),
  ];
}

export function l3vniLinks(owner: string, spec: L3VNISpec, vtep: Vtep, ends: SessionPairs): DesiredLink[] {
  const { vrf, vni } = spec;
  return [
    vrfLink(vrf),
    { type: "bridge", netns: "router", name: `br-pe-${vni}`, owner, master: vrf, addrGenMode: "none" },
    vxlanLink(owner, spec, vtep),
    ...(ends.size === 0 ? [] : veth(owner, `host-${vni}`, `pe-${vni}`, sessionLegs(ends, vrf))),
  ];
}

export function l2vniLinks(owner: string, spec: L2VNISpec, vrf: string | undefined, vtep: Vtep): DesiredLink[] {
  const { vni, l2gatewayips = [] } = spec;
  const gateways = l2gatewayips.map(parseInterfaceAddress);
  // An IPv6 gateway uses a link-local address toward its neighbors.
  const linkLocal = gateways.some(({ address }) => address.family === 6);
  const bridge = `br-pe-${vni}`;
  const { links, master } = hostMaster(owner, spec);
  return [
    ...(vrf === undefined ? [] : [vrfLink(vrf)]),
    {
      type: "bridge",
      netns: "router",
      name: bridge,
      owner,
      ...(vrf !== undefined && { master: vrf }),
      ...(!linkLocal && { addrGenMode: "none" }),
      ...(gateways.length > 0 && { addresses: gateways.map(String), mac: gatewayMac(vni) }),
    },
    vxlanLink(owner, spec, vtep),
    ...links,
    ...veth(owner, `host-${vni}`, `pe-${vni}`, { host: master === undefined ? {} : { master }, router: { master: bridge } }),
  ];
}

export function passthroughLinks(owner: string, ends: SessionPairs): DesiredLink[] {
  return veth(owner, "pt-host", "pt-ns", sessionLegs(ends));
}

/** One device for all resources of the VRF. */
function vrfLink(vrf: string): DesiredLink {
  return { type: "vrf", netns: "router", name: vrf, owner: `VRF/${vrf}` };
}

function vxlanLink(owner: string, { vni, vxlanport }: { vni: number; vxlanport: number }, { address, device }: Vtep): DesiredLink {
  return {
    type: "vxlan",
    netns: "router",
    name: `vni${vni}`,
    owner,
    master: `br-pe-${vni}`,
    addrGenMode: "none",
    vni,
    port: vxlanport,
    local: address.toString(),
    device,
  };
}

/** The gateway answers with the same address on every node, so that a workload that moves finds it again. */
function gatewayMac(vni: number): string {
  const bytes = [0x00, 0xf3, ...[24, 16, 8, 0].map((shift) => ((vni + 1) >>> shift) & 0xff)];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

interface Leg {
  readonly master?: string;
  readonly addresses?: readonly string[];
}

function veth(owner: string, host: string, router: string, legs: { host: Leg; router: Leg }): DesiredLink[] {
  return [
    { type: "veth", netns: "host", name: host, owner, peer: { netns: "router", name: router }, ...legs.host },
    { type: "veth", netns: "router", name: router, owner, peer: { netns: "host", name: host }, ...legs.router },
  ];
}

function sessionLegs(ends: SessionPairs, vrf?: string): { host: Leg; router: Leg } {
  const all = [...ends.values()];
  return {
    host: { addresses: all.map(({ host }) => host.toString()) },
    router: { ...(vrf !== undefined && { master: vrf }), addresses: all.map(({ router }) => router.toString()) },
  };
}

/** What the host's leg is attached to, and what has to be there for that. */
function hostMaster(owner: string, { hostmaster, vni }: L2VNISpec): { links: DesiredLink[]; master?: string } {
  if (!hostmaster) return { links: [] };
  const { type, linuxBridge, ovsBridge } = hostmaster;
  const name = (type === "linux-bridge" ? linuxBridge : ovsBridge)?.name || `br-hs-${vni}`;
  if (type === "ovs-bridge") {
    // Several may name one bridge; its mark must not go from hand to hand.
    const marked = ovsBridge?.name ? `OVSBridge/${name}` : owner;
    return { links: [{ type: "ovs-bridge", netns: "host", name, owner: marked }], master: OVS_MASTER + name };
  }
  return { links: linuxBridge?.autoCreate ? [{ type: "bridge", netns: "host", name, owner }] : [], master: name };
}

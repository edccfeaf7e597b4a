import type { DesiredLink } from "../../src/hostnet/desired-link.ts";

export interface Built {
  ms: number;
}

/** Every other VNI is an L2VNI with gateway addresses, the others are L3VNIs with a session to the host; as the router asks for them, but for VRFs, which not every kernel has. */
export function linksOf(n: number): DesiredLink[] {
  const vni = 1000 + n;
  const layer2 = n % 2 === 0;
  const owner = `${layer2 ? "L2VNI" : "L3VNI"}/tenant-${n}`;
  const [bridge, near, far] = [`br-pe-${vni}`, `host-${vni}`, `pe-${vni}`];
  const addresses = (host: number) => [`10.${n >> 8}.${n & 255}.${host}/24`, `fd00:${n.toString(16)}::${host}/64`];
  const mac = `00:f3:00:00:${[(vni + 1) >> 8, (vni + 1) & 255].map((byte) => byte.toString(16).padStart(2, "0")).join(":")}`;
  const hostLeg = { netns: "host", type: "veth", name: near, owner, mtu: 1450, peer: { netns: "router", name: far } } as const;
  const routerLeg = { netns: "router", type: "veth", name: far, owner, mtu: 1450, peer: { netns: "host", name: near } } as const;
  return [
    { netns: "router", type: "bridge", name: bridge, owner, addrGenMode: "none", ...(layer2 && { addresses: addresses(1), mac }) },
    {
      netns: "router",
      type: "vxlan",
      name: `vni${vni}`,
      owner,
      master: bridge,
      vni,
      port: 4789,
      local: "10.255.0.1",
      device: "lo",
      addrGenMode: "none",
    },
    layer2 ? hostLeg : { ...hostLeg, addresses: addresses(2) },
    layer2 ? { ...routerLeg, master: bridge } : { ...routerLeg, addresses: addresses(1) },
  ];
}

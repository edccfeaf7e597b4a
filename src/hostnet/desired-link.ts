/** The two network namespaces of a node: the machine's own, and the router's. */
export type NetnsRole = "host" | "router";

interface Common {
  readonly netns: NetnsRole;
  readonly name: string;
  /** Goes into the link's alias, `plumbline:<owner>`: the resource as `L2VNI/red`, or `VRF/red` for what several resources share. */
  readonly owner: string;
  /** A link in the same place, or an Open vSwitch bridge with OVS_MASTER before its name. */
  readonly master?: string;
  /** Exactly these, `192.0.2.1/24`, next to what the kernel adds by itself (link-local). */
  readonly addresses?: readonly string[];
  readonly mac?: string;
  readonly mtu?: number;
  /** No link-local IPv6 address of its own. */
  readonly addrGenMode?: "none";
}

/** A link that should be there, up, with these attributes. Ours are created and removed; a `nic` is only moved, and moved back. */
export type DesiredLink = Common &
  (
    | { readonly type: "bridge" | "dummy" }
    /** Its table is chosen when it is created: the lowest that no VRF has, 253 to 255 left out. */
    | { readonly type: "vrf" }
    /** Learning is off and neighbor suppression on. */
    | { readonly type: "vxlan"; readonly vni: number; readonly port: number; readonly local: string; readonly device: string }
    /** One leg; the other is wanted too, as a link of its own, and names this one as its peer. */
    | { readonly type: "veth"; readonly peer: { readonly netns: NetnsRole; readonly name: string } }
    /** A physical interface, brought into `place` with its addresses and routes. */
    | { readonly type: "nic" }
    | { readonly type: "ovs-bridge" }
  );

/** `master: OVS_MASTER + "br-ovs"`: attached to an Open vSwitch bridge, which is not a master in the kernel's sense. */
export const OVS_MASTER = "ovs:";

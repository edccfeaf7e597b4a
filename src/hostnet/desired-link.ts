/** The machine's namespace and the router's. */
export type NetnsRole = "host" | "router";

interface Common {
  readonly netns: NetnsRole;
  readonly name: string;
  /** Part of the link's alias, `plumbline:<owner>`: the resource as `L2VNI/red`, or `VRF/red` for shared links. */
  readonly owner: string;
  /** A link in the same namespace, or OVS_MASTER and the name of an Open vSwitch bridge. */
  readonly master?: string;
  /** Exactly these, `192.0.2.1/24`, besides the kernel's own (link-local). */
  readonly addresses?: readonly string[];
  readonly mac?: string;
  readonly mtu?: number;
  /** Without a link-local IPv6 address. */
  readonly addrGenMode?: "none";
}

/** A link that must exist and be up, with these attributes. We create and remove our own; a `nic` is only moved, and moved back. */
export type DesiredLink = Common &
  (
    | { readonly type: "bridge" | "dummy" }
    /** Its table is the lowest unused one, except 253 to 255. */
    | { readonly type: "vrf" }
    /** Learning is off and neighbor suppression on. */
    | { readonly type: "vxlan"; readonly vni: number; readonly port: number; readonly local: string; readonly device: string }
    /** One end; the other is a link of its own and names this one as its peer. */
    | { readonly type: "veth"; readonly peer: { readonly netns: NetnsRole; readonly name: string } }
    /** A physical interface, moved with its addresses and routes. Optional: if there is one. */
    | { readonly type: "nic"; readonly optional?: true }
    | { readonly type: "ovs-bridge" }
  );

/** `master: OVS_MASTER + "br-ovs"`: a port of an Open vSwitch bridge, which is not a kernel master. */
export const OVS_MASTER = "ovs:";

import { parseAddress } from "../ip/address.ts";
import { planAddresses, type AddressPlan } from "./plan-addresses.ts";
import { PlannedState, paired, type LinkPlan } from "./planned-state.ts";
import { moveNicIn, moveNicBack } from "./move-nic.ts";
import { attachToOvs, ensureOvsBridge, detachFromOvs, ovsBridgeOf, removeOvsBridge } from "./ovs-plan.ts";
import { createdAlias, GROUP, linkOwnership } from "./ownership.ts";
import { PORT_FLAGS, type Link, type PortFlag, type Snapshot } from "./snapshot.ts";
import { OVS_MASTER, type NetnsRole, type DesiredLink } from "./desired-link.ts";

type Created = Exclude<DesiredLink, { type: "nic" | "ovs-bridge" }>;

/** The commands that make the links match: only the differences, since every link event makes FRR read again. */
export function plan(want: readonly DesiredLink[], have: Snapshot): LinkPlan {
  const draft = new PlannedState(have);
  // First, since another link may need what one gives up, such as a VNI.
  for (const link of want) deleteUnfit(link, draft);
  for (const link of inOrder(want)) {
    if (link.type === "nic") moveNicIn(link, draft);
    else if (link.type === "ovs-bridge") ensureOvsBridge(link, draft);
    else ensureCreated(link, draft);
  }
  return draft.plan();
}

/** Deletes links, or moves them back. Foreign links stay. */
export function planRemoval(links: readonly { readonly netns: NetnsRole; readonly name: string }[], have: Snapshot): LinkPlan {
  const draft = new PlannedState(have);
  // Before any is deleted: a veth disappears with its peer, and Open vSwitch would keep listing it.
  for (const { netns, name } of links) {
    const link = draft.get(netns, name);
    if (link && linkOwnership(link) === "created") detachFromOvs(link, draft);
  }
  for (const { netns, name } of links) {
    const link = draft.get(netns, name);
    if (netns === "host" && have.ovs?.some((bridge) => bridge.name === name)) removeOvsBridge(name, draft);
    else if (link === undefined) continue;
    else if (linkOwnership(link) === "moved") moveNicBack(netns, link, draft);
    else if (linkOwnership(link) === "created") draft.delete(netns, link);
  }
  return draft.plan();
}

const key = (role: NetnsRole, name: string) => `${role}/${name}`;

/** Masters and the devices of VXLANs before the links that depend on them. */
function inOrder(want: readonly DesiredLink[]): DesiredLink[] {
  const byName = new Map(want.map((link) => [key(link.netns, link.name), link]));
  const ordered = new Set<DesiredLink>();
  const visiting = new Set<DesiredLink>();
  const visit = (link: DesiredLink) => {
    if (ordered.has(link) || visiting.has(link)) return;
    visiting.add(link);
    const names = [link.master?.replace(OVS_MASTER, ""), link.type === "vxlan" ? link.device : undefined];
    for (const name of names) {
      const dependency = name === undefined ? undefined : byName.get(key(link.netns, name));
      if (dependency) visit(dependency);
    }
    ordered.add(link);
  };
  for (const link of want) visit(link);
  return [...ordered];
}

function ensureCreated(want: Created, draft: PlannedState): void {
  const found = draft.get(want.netns, want.name);
  if (found && linkOwnership(found) !== "created") {
    const whose = found.alias === "" ? "" : ` (its alias is ${JSON.stringify(found.alias)})`;
    return draft.reject(want.netns, want.name, `a link with this name already exists and was not created by plumbline${whose}`);
  }
  for (const name of [kernelMaster(want), want.type === "vxlan" ? want.device : undefined]) {
    if (name !== undefined && !draft.get(want.netns, name))
      return draft.reject(want.netns, want.name, `Interface ${name} not present on node`);
  }
  const link = found ?? create(want, draft);
  if (link) alter(link, want, draft);
}

function deleteUnfit(want: DesiredLink, draft: PlannedState): void {
  if (want.type === "nic" || want.type === "ovs-bridge") return;
  const found = draft.get(want.netns, want.name);
  if (found && linkOwnership(found) === "created" && !fits(found, want, draft)) draft.delete(want.netns, found);
}

/** Whether it can be changed as wanted without being recreated. */
function fits(link: Link, want: Created, draft: PlannedState): boolean {
  if (link.type !== want.type) return false;
  if (want.type === "veth") {
    const peer = draft.get(want.peer.netns, want.peer.name);
    return peer !== undefined && paired(link, peer);
  }
  if (want.type !== "vxlan") return true;
  const { vxlan } = link;
  return (
    vxlan !== undefined &&
    !vxlan.learning &&
    vxlan.vni === want.vni &&
    vxlan.port === want.port &&
    vxlan.device === want.device &&
    vxlan.local !== undefined &&
    parseAddress(vxlan.local).equals(parseAddress(want.local))
  );
}

function create(want: Created, draft: PlannedState): Link | undefined {
  if (want.type === "veth") return createPair(want, draft);
  const { netns, name } = want;
  const master = kernelMaster(want);
  const args = ["link", "add", "name", name, ...createArgs(want), ...(master === undefined ? [] : ["master", master]), "type", want.type];
  const fresh: Link = { ...newLink(want, draft), ...(master !== undefined && { master }) };
  if (want.type === "vrf") {
    const table = draft.freeTable(netns);
    draft.ip(netns, name, ...args, "table", String(table));
    draft.put(netns, { ...fresh, table });
  } else if (want.type === "vxlan") {
    const { vni, port, local, device } = want;
    draft.ip(netns, name, ...args, "id", String(vni), "dstport", String(port), "local", local, "dev", device, "nolearning");
    draft.put(netns, fresh);
  } else {
    draft.ip(netns, name, ...args);
    draft.put(netns, fresh);
  }
  return draft.get(netns, name);
}

type Leg = Extract<Created, { type: "veth" }>;

/** A pair across namespaces is always created in the host's, so that nothing there waits for the router's. */
function createPair(want: Leg, draft: PlannedState): Link | undefined {
  const other = draft.get(want.peer.netns, want.peer.name);
  if (other && linkOwnership(other) !== "created") {
    draft.reject(want.peer.netns, want.peer.name, "a link with this name already exists and was not created by plumbline");
    return undefined;
  }
  if (other) draft.delete(want.peer.netns, other);
  const bare = { ...want.peer, type: want.type };
  const [near, far] = want.netns === "host" || want.peer.netns === "router" ? [want, bare] : [bare, want];
  const together = near.netns === far.netns;
  const netns = together ? [] : ["netns", draft.have.namespaces[far.netns]];
  draft.ip(
    near.netns,
    near.name,
    "link",
    "add",
    "name",
    near.name,
    ...createArgs(near),
    "type",
    "veth",
    "peer",
    "name",
    far.name,
    ...netns,
    ...createArgs(far),
  );
  const [nearLink, farLink] = [newLink(near, draft), newLink(far, draft)];
  draft.put(near.netns, { ...nearLink, peer: together ? { name: far.name } : { index: farLink.index } });
  draft.put(far.netns, { ...farLink, peer: together ? { name: near.name } : { index: nearLink.index } });
  return draft.get(want.netns, want.name);
}

type NewLinkSpec = Pick<DesiredLink, "netns" | "name" | "type" | "mac" | "mtu">;

function createArgs({ mac, mtu }: NewLinkSpec): string[] {
  return ["group", GROUP, ...(mac === undefined ? [] : ["address", mac]), ...(mtu === undefined ? [] : ["mtu", String(mtu)])];
}

/** Without what the kernel chooses itself. */
function newLink({ netns, name, type, mac = "", mtu = 0 }: NewLinkSpec, draft: PlannedState): Link {
  const link = { name, type, index: draft.freshIndex(), alias: "", group: GROUP, mtu, mac: mac.toLowerCase(), up: false, addresses: [] };
  return draft.hasIpv6(netns) ? { ...link, addrGenMode: "" } : link;
}

function alter(link: Link, want: Created, draft: PlannedState): void {
  const { netns, name } = want;
  const set = (...args: string[]) => draft.ip(netns, name, "link", "set", "dev", name, ...args);
  const addresses = planAddresses(link, want);
  removeAddresses(addresses.remove, want, draft);

  const args: string[] = [];
  if (link.alias !== createdAlias(want.owner)) args.push("alias", createdAlias(want.owner));
  if (want.mac !== undefined && link.mac !== want.mac.toLowerCase()) args.push("address", want.mac);
  if (want.mtu !== undefined && link.mtu !== want.mtu) args.push("mtu", String(want.mtu));
  for (const what of link.off ?? []) args.push(what, "on");
  const enslaved = enslave(link, want, args, draft);

  const settings = [...planBridge(link), ...planPort(link, want, enslaved, draft)];
  if (want.addrGenMode !== undefined && link.addrGenMode !== undefined && link.addrGenMode !== want.addrGenMode) {
    // A VRF sets a new port down and up, and the kernel would generate an address.
    if (enslaved || addresses.removeLocal.length > 0) set("addrgenmode", want.addrGenMode);
    else settings.unshift("addrgenmode", want.addrGenMode);
  }
  removeAddresses(addresses.removeLocal, want, draft);
  // A message that also sets the link up would do that first: a link-local address would be generated, and port settings would fail.
  if (enslaved && settings.length > 0) set(...args.splice(0));
  args.push(...settings);
  if (!link.up && settings.length === 0) args.push("up");
  if (args.length > 0) set(...args);
  if (!link.up && settings.length > 0) set("up");

  for (const text of [...addresses.add, ...(enslaved ? addresses.restore : [])]) {
    draft.ip(netns, name, "addr", "replace", text, "dev", name, ...(text.includes(":") ? ["nodad"] : []));
  }
  draft.put(netns, { ...link, addresses: addresses.after });
}

function removeAddresses(addresses: AddressPlan["remove"], { netns, name }: Created, draft: PlannedState): void {
  for (const args of addresses) draft.ip(netns, name, "addr", "del", ...args, "dev", name);
}

/** True if the master changes. */
function enslave(link: Link, want: Created, args: string[], draft: PlannedState): boolean {
  if (want.master?.startsWith(OVS_MASTER)) return attachToOvs(link, want, want.master.slice(OVS_MASTER.length), draft);
  if (ovsBridgeOf(link, draft.have) !== undefined) {
    detachFromOvs(link, draft);
    if (want.master === undefined) return true;
  }
  if (link.master === want.master) return false;
  args.push(...(want.master === undefined ? ["nomaster"] : ["master", want.master]));
  return true;
}

/** A bridge of ours forwards every frame between its ports. */
function planBridge({ bridge }: Link): string[] {
  if (!bridge?.vlanFiltering && !bridge?.stp) return [];
  return ["type", "bridge", ...(bridge.vlanFiltering ? ["vlan_filtering", "0"] : []), ...(bridge.stp ? ["stp_state", "0"] : [])];
}

/** As the kernel makes a port. */
export const NEW_PORT: Readonly<Record<PortFlag, boolean>> = {
  neigh_suppress: false,
  learning: true,
  flood: true,
  mcast_flood: true,
  bcast_flood: true,
  hairpin: false,
  guard: false,
  root_block: false,
  isolated: false,
  locked: false,
};

/** The port flags of our links in our bridges. The ports of other bridges are not changed. */
function planPort(link: Link, want: Created, enslaved: boolean, draft: PlannedState): string[] {
  const master = kernelMaster(want);
  const bridge = master === undefined ? undefined : draft.get(want.netns, master);
  if (bridge?.type !== "bridge" || linkOwnership(bridge) !== "created") return [];
  const wanted = want.type === "vxlan" ? { ...NEW_PORT, learning: false, neigh_suppress: true } : NEW_PORT;
  // A port that has just been given to its bridge starts with the bridge's own ideas.
  const { flags, state } = enslaved || !link.bridgePort ? { flags: NEW_PORT, state: "" } : link.bridgePort;
  const differing = PORT_FLAGS.filter((flag) => flags[flag] !== undefined && flags[flag] !== wanted[flag]);
  const args = differing.flatMap((flag) => [flag, wanted[flag] ? "on" : "off"]);
  // Without a carrier a port is disabled.
  if (state !== "" && state !== "forwarding" && bridge.up && link.up && !link.noCarrier) args.push("state", "3");
  return args.length === 0 ? [] : ["type", "bridge_slave", ...args];
}

function kernelMaster({ master }: DesiredLink): string | undefined {
  return master?.startsWith(OVS_MASTER) ? undefined : master;
}

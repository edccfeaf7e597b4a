import type { PlannedState } from "./planned-state.ts";
import type { Link, OvsBridge, Snapshot } from "./snapshot.ts";
import type { DesiredLink } from "./desired-link.ts";

/** The kernel's master of every Open vSwitch port. */
export const OVS_DATAPATH = "ovs-system";
/** The key in external_ids with the owner of a bridge of ours. */
export const OVS_KEY = "plumbline";

export function ensureOvsBridge({ netns, name, owner }: DesiredLink, draft: PlannedState): void {
  if (netns !== "host") return draft.reject(netns, name, "Open vSwitch runs in the host's namespace only");
  const bridge = draft.have.ovs?.find((candidate) => candidate.name === name);
  const link = draft.get(netns, name);
  if (bridge) {
    if (!link) return draft.reject(netns, name, "Open vSwitch has not created this bridge; see the log of ovs-vswitchd");
    if (bridge.owner !== undefined && bridge.owner !== owner) draft.ovs(name, "br-set-external-id", name, OVS_KEY, owner);
    // A foreign bridge may be down for a reason.
    if (bridge.owner !== undefined && !link.up) draft.ip(netns, name, "link", "set", "dev", name, "up");
    return;
  }
  if (link) return draft.reject(netns, name, "a link with this name already exists and is not an Open vSwitch bridge");
  draft.ovs(name, "add-br", name, "--", "br-set-external-id", name, OVS_KEY, owner);
  draft.ip(netns, name, "link", "set", "dev", name, "up");
  draft.put(netns, {
    name,
    type: "openvswitch",
    index: draft.freshIndex(),
    alias: "",
    group: "",
    mtu: 0,
    mac: "",
    up: true,
    addresses: [],
  });
}

export function removeOvsBridge(name: string, draft: PlannedState): void {
  const bridge = draft.have.ovs?.find((candidate) => candidate.name === name);
  if (bridge?.owner === undefined) return;
  draft.commands.push({ program: "ovs-vsctl", netns: "host", link: name, args: ["--if-exists", "del-br", name], forgets: true });
  draft.forget("host", name);
}

export function ovsBridgeOf(link: Link, { ovs }: Snapshot): OvsBridge | undefined {
  return ovs?.find((bridge) => bridge.ports.includes(link.name));
}

/** True if the master changes. */
export function attachToOvs(link: Link, { netns, name }: DesiredLink, bridge: string, draft: PlannedState): boolean {
  const now = ovsBridgeOf(link, draft.have);
  if (now?.name === bridge) return false;
  if (now) detachFromOvs(link, draft);
  else if (link.master !== undefined) draft.ip(netns, name, "link", "set", "dev", name, "nomaster");
  draft.ovs(name, "--may-exist", "add-port", bridge, name);
  return true;
}

export function detachFromOvs(link: Link, draft: PlannedState): void {
  if (ovsBridgeOf(link, draft.have)) draft.ovs(link.name, "--if-exists", "del-port", link.name);
}

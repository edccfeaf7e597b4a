import { otherNamespace } from "./command.ts";
import type { PlannedState } from "./planned-state.ts";
import { aliasBefore, linkOwnership, movedAlias } from "./ownership.ts";
import { addressArgs, isLinkLocal, planAddresses } from "./plan-addresses.ts";
import type { Link } from "./snapshot.ts";
import type { NetnsRole, DesiredLink } from "./desired-link.ts";

/** Moves a physical interface with its addresses and routes, and changes only what is wanted. */
export function moveNicIn(want: Extract<DesiredLink, { type: "nic" }>, draft: PlannedState): void {
  const { netns, name } = want;
  const here = draft.get(netns, name);
  const there = draft.get(otherNamespace(netns), name);
  if (here) return alter(here, want, draft);
  if (!there && want.optional) return;
  if (!there) return draft.reject(netns, name, `Interface ${name} not present on node`);
  if (linkOwnership(there) === "created")
    return draft.reject(otherNamespace(netns), name, "this link was created by plumbline and is not an interface of the node");
  move(otherNamespace(netns), there, movedAlias(want.owner, there), draft);
  alter({ ...there, alias: movedAlias(want.owner, there), up: true }, want, draft);
}

/** Moves it back to the host. If it is already there, because the router's namespace was deleted, only its alias is restored. */
export function moveNicBack(role: NetnsRole, link: Link, draft: PlannedState): void {
  const alias = aliasBefore(link);
  if (role === "router") return move(role, link, alias, draft);
  draft.ip(role, link.name, "link", "set", "dev", link.name, "alias", alias);
  draft.put(role, { ...link, alias });
}

function alter(link: Link, want: DesiredLink, draft: PlannedState): void {
  const { netns, name } = want;
  const args: string[] = [];
  const alias = movedAlias(want.owner, link);
  // An interface that was here before us is never moved.
  if (linkOwnership(link) === "moved" && link.alias !== alias) args.push("alias", alias);
  if (want.mtu !== undefined && link.mtu !== want.mtu) args.push("mtu", String(want.mtu));
  if (want.mac !== undefined && link.mac !== want.mac.toLowerCase()) args.push("address", want.mac);
  if (want.master !== undefined && link.master !== want.master) args.push("master", want.master);
  if (!link.up) args.push("up");
  if (args.length > 0) draft.ip(netns, name, "link", "set", "dev", name, ...args);
  const { add } = planAddresses(link, want);
  for (const text of add) draft.ip(netns, name, "addr", "replace", text, "dev", name);
  const more = add.map((text) => ({ text, scope: "global", dynamic: false, secondary: false, dadFailed: false }));
  draft.put(netns, { ...link, addresses: [...link.addresses, ...more] });
}

function move(from: NetnsRole, link: Link, alias: string, draft: PlannedState): void {
  const { name } = link;
  const to = otherNamespace(from);
  const args = ["link", "set", "dev", name, "alias", alias, "netns", draft.have.namespaces[to]];
  draft.commands.push({ program: "ip", netns: from, link: name, args: args, forgets: true });
  draft.ip(to, name, "link", "set", "dev", name, "up");
  for (const address of link.addresses) {
    if (isLinkLocal(address)) continue;
    const { validSeconds, preferredSeconds, scope } = address;
    const lifetime = [
      ...(validSeconds === undefined ? [] : ["valid_lft", String(validSeconds)]),
      ...(preferredSeconds === undefined ? [] : ["preferred_lft", String(preferredSeconds)]),
    ];
    // It was on this interface before, so it cannot be a duplicate.
    const family = address.text.includes(":") ? ["nodad"] : scope === "global" ? [] : ["scope", scope];
    draft.ip(to, name, "addr", "replace", ...addressArgs(address), "dev", name, ...family, ...lifetime);
  }
  for (const route of draft.have.routes.get(name) ?? []) draft.ip(to, name, "route", "replace", ...route.args);
  draft.forget(from, name);
  draft.put(to, { ...link, alias, up: true });
}

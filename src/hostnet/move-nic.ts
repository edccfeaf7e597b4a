import { elsewhere } from "./command.ts";
import type { Draft } from "./planned-state.ts";
import { aliasBefore, holdOf, movedAlias } from "./ownership.ts";
import { addressWords, isLinkLocal, planAddresses } from "./plan-addresses.ts";
import type { Link } from "./snapshot.ts";
import type { Place, WantedLink } from "./desired-link.ts";

/** Brings a physical interface into its place, with its addresses and routes; it is altered no further than is asked. */
export function bringNic(want: WantedLink, draft: Draft): void {
  const { place, name } = want;
  const here = draft.get(place, name);
  const there = draft.get(elsewhere(place), name);
  if (here) return alter(here, want, draft);
  if (!there) return draft.refuse(place, name, `Interface ${name} not present on node`);
  if (holdOf(there) === "created")
    return draft.refuse(elsewhere(place), name, "plumbline has created this link; it is no interface of the node's own");
  move(elsewhere(place), there, movedAlias(want.owner, there), draft);
  alter({ ...there, alias: movedAlias(want.owner, there), up: true }, want, draft);
}

/** Moves it back to the host. One that came back by itself, as when someone deletes the router's namespace, is only no longer called moved. */
export function returnNic(place: Place, link: Link, draft: Draft): void {
  const alias = aliasBefore(link);
  if (place === "router") return move(place, link, alias, draft);
  draft.ip(place, link.name, "link", "set", "dev", link.name, "alias", alias);
  draft.put(place, { ...link, alias });
}

function alter(link: Link, want: WantedLink, draft: Draft): void {
  const { place, name } = want;
  const words: string[] = [];
  const alias = movedAlias(want.owner, link);
  // One that was here without us is not ours to move, ever.
  if (holdOf(link) === "moved" && link.alias !== alias) words.push("alias", alias);
  if (want.mtu !== undefined && link.mtu !== want.mtu) words.push("mtu", String(want.mtu));
  if (want.mac !== undefined && link.mac !== want.mac.toLowerCase()) words.push("address", want.mac);
  if (want.master !== undefined && link.master !== want.master) words.push("master", want.master);
  if (!link.up) words.push("up");
  if (words.length > 0) draft.ip(place, name, "link", "set", "dev", name, ...words);
  const { add } = planAddresses(link, want);
  for (const text of add) draft.ip(place, name, "addr", "replace", text, "dev", name);
  const more = add.map((text) => ({ text, scope: "global", dynamic: false, secondary: false, dadFailed: false }));
  draft.put(place, { ...link, addresses: [...link.addresses, ...more] });
}

function move(from: Place, link: Link, alias: string, draft: Draft): void {
  const { name } = link;
  const to = elsewhere(from);
  const words = ["link", "set", "dev", name, "alias", alias, "netns", draft.have.namespaces[to]];
  draft.commands.push({ program: "ip", place: from, link: name, words, forgets: true });
  draft.ip(to, name, "link", "set", "dev", name, "up");
  for (const address of link.addresses) {
    if (isLinkLocal(address)) continue;
    const { validSeconds, preferredSeconds, scope } = address;
    const lifetime = [
      ...(validSeconds === undefined ? [] : ["valid_lft", String(validSeconds)]),
      ...(preferredSeconds === undefined ? [] : ["preferred_lft", String(preferredSeconds)]),
    ];
    // It was this interface's before, so nobody else can have it.
    const family = address.text.includes(":") ? ["nodad"] : scope === "global" ? [] : ["scope", scope];
    draft.ip(to, name, "addr", "replace", ...addressWords(address), "dev", name, ...family, ...lifetime);
  }
  for (const route of draft.have.routes.get(name) ?? []) draft.ip(to, name, "route", "replace", ...route.words);
  draft.forget(from, name);
  draft.put(to, { ...link, alias, up: true });
}

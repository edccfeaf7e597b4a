import { TOR_ASN } from "../net/topology.ts";
import type { PossibleChange } from "./kernel-changes.ts";
import { type Scope, vtysh } from "./state.ts";

/** A line of a running configuration, with the lines that are in it. */
interface Entry {
  readonly path: readonly string[];
  readonly line: string;
  /** As they are printed, with those that end a part. */
  readonly inside: readonly string[];
}

const NO_LINE = /^(!|exit|end$|frr |hostname |log |service |Building|Current|password|line vty|no service)|^$/;

/** Every line that can be taken out of FRR, or put in where it begins with `no`. */
export function frrChanges(text: string, scope: Exclude<Scope, "tor">): PossibleChange[] {
  return entriesOf(text).map((entry) => lineChange(entry, scope));
}

/** What a network engineer may do to a node at the ToR: take lines about it away, or give it a policy. */
export function torChanges(text: string, neighbor: string): PossibleChange[] {
  const bgp = `router bgp ${TOR_ASN}`;
  const policy = (path: readonly string[], option: string): PossibleChange => ({
    kind: "policy",
    make: vtysh("tor", [...path, `neighbor ${neighbor} ${option}`]),
    undo: vtysh("tor", [...path, `no neighbor ${neighbor} ${option}`]),
  });
  const filter = (path: readonly string[], direction: "in" | "out"): PossibleChange => {
    const { kind, make, undo } = policy(path, `route-map ${DENY_ALL} ${direction}`);
    const [add, remove] = [vtysh("tor", [`route-map ${DENY_ALL} deny 10`]), vtysh("tor", [`no route-map ${DENY_ALL}`])];
    return { kind, make: `${add} && ${make}`, undo: `${undo}; ${remove}` };
  };
  const about = entriesOf(text).filter(({ line }) => line.includes(` ${neighbor} `));
  const families = ["ipv4 unicast", "l2vpn evpn"].map((family) => [bgp, `address-family ${family}`]);
  return [
    ...about.map((entry) => lineChange(entry, "tor")),
    policy([bgp], "shutdown"),
    policy([bgp], "password fuzz"),
    ...families.flatMap((path) => [filter(path, "in"), filter(path, "out")]),
    ...families.flatMap((path) => [tooManyPrefixes(policy(path, "maximum-prefix 1"), neighbor), policy(path, "next-hop-self force")]),
  ];
}

/** A session that went down for it stays down until it is cleared. */
function tooManyPrefixes({ kind, make, undo }: PossibleChange, neighbor: string): PossibleChange {
  return { kind, make, undo: `${undo}; vtysh -c 'clear bgp ${neighbor}'` };
}

const DENY_ALL = "lab-fuzz";

export function entriesOf(text: string): Entry[] {
  const lines = text.split("\n").map((line) => line.trimEnd());
  const open: string[] = [];
  return lines.flatMap((line, at) => {
    const content = line.trim();
    if (NO_LINE.test(content)) return [];
    const level = indentOf(line);
    const path = open.slice(0, level);
    open.splice(level, open.length, content);
    const end = lines.findIndex((other, index) => index > at && indentOf(other) <= level);
    const inside = lines.slice(at + 1, end < 0 ? lines.length : end).map((other) => other.trim());
    return [{ path, line: content, inside: inside.filter((other) => other !== "" && other !== "!") }];
  });
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function lineChange({ path, line, inside }: Entry, scope: Scope): PossibleChange {
  const opposite = line.startsWith("no ") ? line.slice(3) : `no ${line}`;
  return {
    kind: scope === "tor" ? "policy" : "frr",
    make: vtysh(scope, [...path, opposite]),
    undo: vtysh(scope, [...path, line, ...inside]),
    was: `frr ${[...path, line].join(" / ")}`,
  };
}

export function describeFrr(text: string): Set<string> {
  return new Set(entriesOf(text).map(({ path, line }) => `frr ${[...path, line].join(" / ")}`));
}

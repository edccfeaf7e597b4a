export type Sets = ReadonlyMap<string, ReadonlySet<string>>;
export type NftFamily = "inet" | "arp";

const TABLE = "plumbline";

/**
 * Packets that kube-proxy has not translated would reach the node's own services, which must not be reachable at a service address, except
 * for ICMP.
 */
const INET = `
  chain input {
    type filter hook input priority filter; policy accept;
    ip daddr @ipv4 jump untranslated
    ip6 daddr @ipv6 jump untranslated
  }
  chain untranslated {
    meta l4proto { icmp, ipv6-icmp } return
    ct status dnat return
    meta l4proto { tcp, udp, sctp } th dport @exempt return
    drop
  }`;

/** The kernel answers ARP on every interface, wherever the address is. */
const ARP = `
  chain input {
    type filter hook input priority filter; policy accept;
    arp daddr ip @addresses iifname . arp daddr ip != @selected drop
  }`;

const TABLES = {
  inet: { types: { ipv4: "type ipv4_addr", ipv6: "type ipv6_addr", exempt: "type inet_service; flags interval" }, rules: INET },
  arp: { types: { addresses: "type ipv4_addr", selected: "type ifname . ipv4_addr" }, rules: ARP },
} as const;

/** Replaces the whole table atomically. */
export function fullTable(family: NftFamily, sets: Sets): string {
  const { types, rules } = TABLES[family];
  const declared = Object.entries(types).map(([name, type]) => {
    const elements = [...(sets.get(name) ?? [])];
    return `  set ${name} { ${type};${elements.length === 0 ? "" : ` elements = { ${elements.join(", ")} }`} }`;
  });
  return [
    `table ${family} ${TABLE}`,
    `delete table ${family} ${TABLE}`,
    `table ${family} ${TABLE} {`,
    ...declared,
    `${rules.trimEnd()}\n}`,
    "",
  ].join("\n");
}

/** Empty if the sets are equal. */
export function changedElements(family: NftFamily, have: Sets, want: Sets): string {
  return Object.keys(TABLES[family].types)
    .flatMap((name) => {
      const before = have.get(name) ?? new Set();
      const after = want.get(name) ?? new Set();
      return [elements("delete", family, name, before.difference(after)), elements("add", family, name, after.difference(before))];
    })
    .join("");
}

function elements(verb: "add" | "delete", family: NftFamily, name: string, values: ReadonlySet<string>): string {
  return values.size === 0 ? "" : `${verb} element ${family} ${TABLE} ${name} { ${[...values].join(", ")} }\n`;
}

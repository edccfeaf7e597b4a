import type { LiveState } from "./state.ts";

/** Something that can be done to one object, and how it is undone. Both are scripts. */
export interface PossibleChange {
  readonly kind: ObjectKind;
  readonly make: string;
  /** Empty if only Plumbline can restore it. */
  readonly undo: string;
  /** The object before the change: if it is the same again, it was repaired. Undefined if it did not exist. */
  readonly was?: string;
}

export const KERNEL_KINDS = ["link", "port", "address", "route", "rule", "neighbor", "fdb", "sysctl", "nftables", "qdisc"] as const;
export type ObjectKind = (typeof KERNEL_KINDS)[number] | "frr" | "policy";

const WRONG_MAC = "02:00:5e:00:be:ef";
/** A documentation address, which no host has. */
const UNUSED_ADDRESS = "192.0.2.66";
const RULE = 5;
const TABLE = "lab_fuzz";
const PORT_FLAGS = ["isolated", "learning", "flood", "bcast_flood", "mcast_flood", "neigh_suppress", "hairpin", "locked"];
const QDISCS = ["netem loss 30%", "netem loss 100%", "netem delay 300ms", "tbf rate 64kbit burst 4kb latency 50ms"];
/** Packets to drop: everything, VXLAN, BGP, pings. */
const DROPPED = ["", "meta l4proto udp udp dport 4789 ", "meta l4proto tcp tcp dport 179 ", "ip protocol icmp "];

/** Everything that can be done to what is there, one object at a time. */
export function kernelChanges(state: LiveState): PossibleChange[] {
  return [
    ...linkChanges(state),
    ...portChanges(state),
    ...addressChanges(state),
    ...routeChanges(state),
    ...ruleChanges(state),
    ...neighborChanges(state),
    ...fdbChanges(state),
    ...sysctlChanges(state),
    ...nftChanges(state),
    ...qdiscChanges(state),
  ];
}

/** All objects in words that are the same as long as they are. */
export function describeState(state: LiveState): Set<string> {
  return new Set([...kernelChanges(state)].flatMap(({ was }) => (was === undefined ? [] : [was])));
}

function linkChanges({ links }: LiveState): PossibleChange[] {
  return links.flatMap(({ ifname, flags, mtu, address, master, ifalias = "", linkinfo }) => {
    const was = `link ${ifname} ${flags.includes("UP")} ${mtu} ${address} ${master}`;
    const set = (to: string, back: string): PossibleChange => ({
      kind: "link",
      make: `ip link set ${ifname} ${to}`,
      undo: `ip link set ${ifname} ${back}`,
      was,
    });
    if (ifname === "lo") return [set("down", "up")];
    const kind = linkinfo?.info_kind;
    return [
      ...(flags.includes("UP") ? [set("down", "up")] : []),
      set("mtu 1280", `mtu ${mtu}`),
      ...(address !== undefined && kind !== "vrf" ? [set(`address ${WRONG_MAC}`, `address ${address}`)] : []),
      ...(master === undefined ? [] : [set("nomaster", `master ${master}`)]),
      // Others belong to the lab, and would not be restored.
      ...(ifalias.startsWith("plumbline:") && kind !== undefined && !/ moved( was .*)?$/.test(ifalias)
        ? [{ kind: "link" as const, make: `ip link del ${ifname}`, undo: "", was }]
        : []),
    ];
  });
}

function portChanges({ ports }: LiveState): PossibleChange[] {
  return ports.flatMap((port) =>
    PORT_FLAGS.flatMap((flag): PossibleChange[] => {
      const is = port[flag];
      if (typeof is !== "boolean") return [];
      const set = (on: boolean) => `bridge link set dev ${port.ifname} ${flag} ${on ? "on" : "off"}`;
      return [{ kind: "port", make: set(!is), undo: set(is), was: `port ${port.ifname} ${flag} ${is}` }];
    }),
  );
}

function addressChanges({ addresses }: LiveState): PossibleChange[] {
  return addresses.flatMap(({ ifname, addr_info }) =>
    addr_info
      .filter(({ family }) => family === "inet")
      .map(({ local, prefixlen }): PossibleChange => {
        const object = `${local}/${prefixlen} dev ${ifname}`;
        return { kind: "address", make: `ip address del ${object}`, undo: `ip address replace ${object}`, was: `address ${object}` };
      }),
  );
}

function routeChanges({ routes }: LiveState): PossibleChange[] {
  return routes.flatMap((line): PossibleChange[] => {
    const route = routeObject(line);
    const [destination] = /^(?:blackhole |unreachable |local )?(\S+)/.exec(route)?.slice(1) ?? [];
    if (destination === undefined || /^(broadcast|multicast|anycast)/.test(route)) return [];
    const was = `route ${route}`;
    const table = / table \S+/.exec(route)?.[0] ?? "";
    const removed: PossibleChange = { kind: "route", make: `ip route del ${route}`, undo: `ip route replace ${route}`, was };
    if (route.startsWith("local ")) return [removed];
    const hide = `blackhole ${destination}${table} metric 0`;
    // A route without a metric is replaced, because there can be no second one.
    const hidden = / metric /.test(route)
      ? { make: `ip route add ${hide}`, undo: `ip route del ${hide}` }
      : { make: `ip route replace ${hide}`, undo: `ip route del ${hide}; ip route replace ${route}`, was };
    return [removed, { kind: "route", ...hidden }];
  });
}

/** As input for `ip`: without output-only fields and numbers that the kernel assigns. */
function routeObject(line: string): string {
  return line
    .replaceAll(/ (linkdown|dead|offload|trap|rt_offload)\b/g, "")
    .replaceAll(/ nhid \d+/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

function ruleChanges({ rules, routes }: LiveState): PossibleChange[] {
  const removed = rules.flatMap((line): PossibleChange[] => {
    const [, preference, rest = ""] = /^(\d+):\s+(.*)$/.exec(line) ?? [];
    if (preference === undefined) return [];
    const rule = `pref ${preference} ${rest.replace(/lookup \[l3mdev-table\].*/, "l3mdev").replace(/ proto \S+/, "")}`;
    return [{ kind: "rule", make: `ip rule del ${rule}`, undo: `ip rule add ${rule}`, was: `rule ${rule}` }];
  });
  const destinations = new Set(routes.flatMap((line) => /^(\d\S*)/.exec(line)?.[1] ?? []));
  const matches = [...[...destinations].map((to) => `to ${to}`), "ipproto udp dport 4789", "ipproto tcp dport 179", "ipproto icmp"];
  const added = matches.map((match): PossibleChange => ({
    kind: "rule",
    make: `ip rule add pref ${RULE} ${match} blackhole`,
    undo: `ip rule del pref ${RULE}`,
  }));
  return [...removed, ...added];
}

function neighborChanges({ neighbors }: LiveState): PossibleChange[] {
  return neighbors.flatMap(({ dst, dev, lladdr, state, extern_learn }): PossibleChange[] => {
    if (lladdr === undefined) return [];
    const object = `${dst} dev ${dev}`;
    const isLearned = !state.includes("PERMANENT") && !state.includes("NOARP");
    const flags = extern_learn === undefined ? `nud ${(state[0] ?? "permanent").toLowerCase()}` : "extern_learn nud noarp";
    const back = isLearned ? `ip neigh del ${object}` : `ip neigh replace ${object} lladdr ${lladdr} ${flags}`;
    const was = `neighbor ${object} ${lladdr}`;
    return [
      { kind: "neighbor", make: `ip neigh del ${object}`, undo: isLearned ? "" : back, was },
      { kind: "neighbor", make: `ip neigh replace ${object} lladdr ${WRONG_MAC} nud permanent`, undo: back, was },
    ];
  });
}

function fdbChanges({ fdb, links }: LiveState): PossibleChange[] {
  return fdb.flatMap(({ mac, ifname, dst, master, flags, state }): PossibleChange[] => {
    // A port's own address comes and goes with it.
    if (/^(33:33|01:00:5e)/.test(mac) || links.some(({ address }) => address === mac)) return [];
    const at = master === undefined || flags.includes("self") ? "self" : "master";
    const to = (vtep: string | undefined) => `${mac} dev ${ifname}${vtep === undefined ? "" : ` dst ${vtep}`} ${at}`;
    const learned = flags.includes("extern_learn") ? " extern_learn" : "";
    const lasting = state === "permanent" ? " permanent" : " static";
    const verb = mac === "00:00:00:00:00:00" ? "append" : "replace";
    const was = `fdb ${to(dst)}`;
    const undo = `bridge fdb ${verb} ${to(dst)}${lasting}${learned}`;
    const removed: PossibleChange = { kind: "fdb", make: `bridge fdb del ${to(dst)}`, undo, was };
    if (dst === undefined) return [removed];
    const misled = `bridge fdb del ${to(dst)}; bridge fdb ${verb} ${to(UNUSED_ADDRESS)}${lasting}`;
    return [removed, { kind: "fdb", make: misled, undo: `bridge fdb del ${to(UNUSED_ADDRESS)}; ${undo}`, was }];
  });
}

function sysctlChanges({ sysctls }: LiveState): PossibleChange[] {
  return [...sysctls].map(([path, value]): PossibleChange => {
    const write = (to: string) => `echo ${to} >/proc/sys/${path}`;
    return { kind: "sysctl", make: write(value === "0" ? "1" : "0"), undo: write(value), was: `sysctl ${path} ${value}` };
  });
}

function nftChanges({ nft }: LiveState): PossibleChange[] {
  const tables = nft.split(/^(?=table )/m).filter((block) => block.startsWith("table "));
  const added = ["input", "forward", "output"].flatMap((hook) =>
    DROPPED.map((match): PossibleChange => ({
      kind: "nftables",
      make: `nft 'table inet ${TABLE} { chain ${hook} { type filter hook ${hook} priority -300; ${match}drop; }; }'`,
      undo: `nft delete table inet ${TABLE}`,
    })),
  );
  return [...tables.flatMap(nftTableChanges), ...added];
}

/** The table and each of its rules can be taken away; the whole table is put back. */
function nftTableChanges(block: string): PossibleChange[] {
  const [, family = "", name = ""] = /^table (\S+) (\S+)/.exec(block) ?? [];
  const text = block.replaceAll(/ # handle \d+/g, "");
  const undo = `nft delete table ${family} ${name} 2>/dev/null; nft -f - <<'END'\n${text.trimEnd()}\nEND`;
  const removed = (make: string): PossibleChange => ({ kind: "nftables", make, undo, was: `nftables ${text}` });
  let chain = "";
  const rules = block.split("\n").flatMap((line): PossibleChange[] => {
    chain = /^\tchain (\S+) \{/.exec(line)?.[1] ?? (line.startsWith("\t}") ? "" : chain);
    const handle = /^\t\t(?!type ).* # handle (\d+)$/.exec(line)?.[1];
    return chain === "" || handle === undefined ? [] : [removed(`nft delete rule ${family} ${name} ${chain} handle ${handle}`)];
  });
  return [removed(`nft delete table ${family} ${name}`), ...rules];
}

function qdiscChanges({ links }: LiveState): PossibleChange[] {
  return links.flatMap(({ ifname }) =>
    QDISCS.map((how): PossibleChange => ({
      kind: "qdisc",
      make: `tc qdisc add dev ${ifname} root ${how}`,
      undo: `tc qdisc del dev ${ifname} root`,
    })),
  );
}

/** What else went with an object, such as the routes of an address and the flags of a port, and does not come back with it. */
export function sideEffects(before: LiveState, now: LiveState): string[] {
  const routes = new Set(now.routes.map(routeObject));
  const lostRoutes = before.routes.map(routeObject).filter((route) => !isAutomatic(route) && !routes.has(route));
  const addresses = new Set(addressChanges(now).map(({ was }) => was));
  const lostAddresses = addressChanges(before).filter(({ was }) => !addresses.has(was));
  const flags = new Set(portChanges(now).map(({ was }) => was));
  const ports = new Set(now.ports.map(({ ifname }) => `port ${ifname} `));
  const changedFlags = portChanges(before).filter(({ was = "" }) => !flags.has(was) && [...ports].some((port) => was.startsWith(port)));
  const changedSysctls = [...before.sysctls].filter(([path, value]) => (now.sysctls.get(path) ?? value) !== value);
  return [
    ...lostAddresses.map(({ undo }) => undo),
    ...changedFlags.map(({ undo }) => undo),
    ...changedSysctls.map(([path, value]) => `echo ${value} >/proc/sys/${path}`),
    ...lostRoutes.map((route) => `ip route replace ${route}`),
  ];
}

/** FRR or the kernel brings it back. */
function isAutomatic(route: string): boolean {
  return / proto (kernel|bgp|zebra)\b/.test(route) || /^(local|broadcast) /.test(route);
}

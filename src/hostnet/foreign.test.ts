import * as fc from "fast-check";
import { expect, test } from "vitest";
import { foreignIn } from "./foreign.ts";

const links = ["lo", "eth1", "host-110", "br-hs-110"].map((name) => ({ name }));
const found = (netns: "host" | "router", text: string) =>
  foreignIn(netns, text, links, ["eth1"]).map(({ object, link, text: own }) => `${object}${link === undefined ? "" : ` ${link}`}: ${own}`);

/** As a node with VRFs, FRR, kube-proxy, Docker and systemd's defaults prints them. */
const USUAL: Readonly<Record<string, readonly string[]>> = {
  rule: [
    "0:\tfrom all lookup local",
    "1000:\tfrom all lookup [l3mdev-table]",
    "32766:\tfrom all lookup main",
    "32767:\tfrom all lookup default",
    "300:\tfrom 192.0.2.0/24 lookup 10000 proto zebra",
  ],
  route: [
    "100.65.0.2 nhid 30 via 192.168.11.2 dev eth1 proto bgp metric 20 ",
    "100.65.0.3 nhid 31 proto bgp metric 20 ",
    "\tnexthop via 192.168.11.2 dev eth1 weight 1 ",
    "100.65.0.0/24 via 192.168.11.2 dev eth1 ",
    "blackhole 100.65.0.9 proto 196 metric 20 ",
  ],
  neighbor: ["169.254.0.1 dev eth1 lladdr 02:00:00:00:00:01 PERMANENT proto zebra "],
  qdisc: [
    "qdisc noqueue 0: dev host-110 root refcnt 2 ",
    "qdisc mq 0: dev eth1 root ",
    "qdisc fq_codel 0: dev eth1 parent :1 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64 ",
    "qdisc clsact ffff: dev host-110 parent ffff:fff1 ",
    "qdisc netem 8001: dev cali123 root refcnt 2 limit 1000 loss 100%",
  ],
  filter: ["filter dev host-110 ingress protocol all pref 1 bpf chain 0 handle 0x1 cil_from_netdev direct-action not_in_hw id 5 "],
};
const NFTABLES = `table inet firewalld {
	chain filter_IN_public_deny {
		drop
	}
	chain filter_FORWARD {
		type filter hook forward priority filter + 10; policy drop;
		ct state invalid log prefix "host-110 drop" counter
		iifname "docker0" reject with icmpx admin-prohibited
		iifname "host-110" accept
	}
}
table bridge docker {
	chain forward {
		type filter hook forward priority 0; policy accept;
		oifname "veth*" drop
	}
}`;

test("reports nothing on a usual node", () => {
  const sections = Object.entries(USUAL).map(([name, lines]) => fc.subarray([...lines]).map((some) => `# ${name}\n${some.join("\n")}\n`));
  fc.assert(
    fc.property(fc.tuple(...sections), (texts) => found("router", texts.join("")).length === 0),
    { seed: 19 },
  );
  expect(found("host", `# nftables\n${NFTABLES}\n# qdisc\n${USUAL["qdisc"]?.join("\n")}`)).toEqual([]);
});

test("reports each object among usual ones once, with its text", () => {
  const strange: readonly (readonly [string, string, string])[] = [
    ["rule", "32765:\tfrom all ipproto udp dport 4789 blackhole", "rule: 32765: from all ipproto udp dport 4789 blackhole"],
    ["rule", "0:\tfrom all lookup 77", "rule: 0: from all lookup 77"],
    ["route", "blackhole 100.65.0.0/24 ", "route: blackhole 100.65.0.0/24"],
    ["route", "100.65.0.2 dev br-pe-110 scope link ", "route: 100.65.0.2 dev br-pe-110 scope link"],
    [
      "neighbor",
      "192.168.11.2 dev eth1 lladdr 02:00:00:00:00:99 PERMANENT ",
      "neighbor eth1: 192.168.11.2 dev eth1 lladdr 02:00:00:00:00:99 PERMANENT",
    ],
    [
      "qdisc",
      "qdisc netem 8001: dev eth1 root refcnt 9 limit 1000 loss 100%",
      "qdisc eth1: qdisc netem 8001: dev eth1 root limit 1000 loss 100%",
    ],
    [
      "filter",
      "filter dev eth1 ingress protocol all pref 49152 matchall chain 0 handle 0x1 not_in_hw action order 1: gact action drop random type none",
      "filter eth1: filter dev eth1 ingress protocol all pref 49152 matchall chain 0 handle 0x1 not_in_hw action order 1: gact action drop random type none",
    ],
  ];
  fc.assert(
    fc.property(fc.subarray([...strange]), fc.constantFrom(...Object.keys(USUAL)), (some, among) => {
      const names = [...new Set([...some.map(([name]) => name), among])];
      const text = names.map((name) => {
        const own = some.flatMap(([section, line]) => (section === name ? [line] : []));
        return `# ${name}\n${[...own, ...(USUAL[name] ?? [])].join("\n")}\n`;
      });
      expect(found("router", text.join("")).toSorted()).toEqual(some.map(([, , reported]) => reported).toSorted());
    }),
    { seed: 19 },
  );
});

test("in the router's namespace every rule that drops is reported, in the host's one that names a link of ours", () => {
  const text = `# nftables
table inet f {
	chain input {
		type filter hook input priority filter; policy drop;
		udp dport { 179, 4789 } counter drop
		iifname "host-*" reject
		log prefix "drop "
	}
}
table netdev n {
	chain in {
		type filter hook ingress device "host-110" priority filter; policy accept;
		udp dport 4789 drop
	}
	chain many {
		type filter hook ingress devices = { eth9, br-hs-110 } priority filter; policy accept;
		meta random & 1 == 1 drop
	}
}`;
  const named = [
    'nftables: inet f input: iifname "host-*" reject',
    "nftables: netdev n in: udp dport 4789 drop",
    "nftables: netdev n many: meta random & 1 == 1 drop",
  ];
  expect(found("host", text)).toEqual(named);
  expect(found("router", text)).toEqual([
    "nftables: inet f input: policy drop",
    "nftables: inet f input: udp dport { 179, 4789 } counter drop",
    ...named,
  ]);
});

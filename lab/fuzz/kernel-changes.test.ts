import { expect, test } from "vitest";
import { describeState, kernelChanges, KERNEL_KINDS, sideEffects } from "./kernel-changes.ts";
import { parseState } from "./state.ts";

const STATE = `
#links
[{"ifname":"lo","flags":["LOOPBACK","UP"],"mtu":65536},{"ifname":"vni110","flags":["UP"],"mtu":1450,"address":"02:00:00:00:00:01","master":"br-pe-110","ifalias":"plumbline:L2VNI/shop","linkinfo":{"info_kind":"vxlan"}},{"ifname":"eth1","flags":["UP"],"mtu":1500,"address":"02:00:00:00:00:02","ifalias":"plumbline:Underlay/underlay moved","linkinfo":{"info_kind":"veth"}}]
#ports
[{"ifname":"vni110","state":"forwarding","learning":false,"isolated":false}]
#addresses
[{},{"ifname":"eth1","addr_info":[{"family":"inet","local":"192.168.11.12","prefixlen":24},{"family":"inet6","local":"fe80::1","prefixlen":64}]}]
#routes
100.65.0.0 nhid 12 via 192.168.11.2 dev eth1 proto bgp metric 20 
10.1.0.0/24 via 192.168.11.2 dev eth1 linkdown
local 192.168.11.12 dev eth1 table local proto kernel scope host src 192.168.11.12 
broadcast 192.168.11.255 dev eth1 table local proto kernel scope link src 192.168.11.12 
#rules
0:\tfrom all lookup local
1000:\tfrom all lookup [l3mdev-table]
#neighbors
[{"dst":"192.168.11.2","dev":"eth1","lladdr":"02:00:00:00:00:09","state":["REACHABLE"]},{"dst":"10.110.0.11","dev":"br-pe-110","lladdr":"02:00:00:00:00:08","extern_learn":null,"state":["NOARP"]}]
#fdb
[{"mac":"00:00:00:00:00:00","ifname":"vni110","dst":"100.65.0.0","flags":["self"],"state":"permanent"},{"mac":"02:00:00:00:00:08","ifname":"vni110","flags":["extern_learn"],"master":"br-pe-110","state":""},{"mac":"33:33:00:00:00:01","ifname":"eth1","flags":["self"],"state":"permanent"}]
#nft
table inet web { # handle 3
\tchain input { # handle 1
\t\ttype filter hook input priority filter; policy accept;
\t\ttcp dport 80 accept # handle 4
\t}
}
#sysctls
net/ipv4/ip_forward:1
net/ipv4/conf/eth1/rp_filter:0
#frr
`;

const state = parseState(STATE);
const made = kernelChanges(state);

test("every existing kind of object can be changed", () => {
  expect(new Set(made.map(({ kind }) => kind))).toEqual(new Set(KERNEL_KINDS));
});

test.each([
  ["ip link set vni110 nomaster", "ip link set vni110 master br-pe-110"],
  ["ip link set eth1 mtu 1280", "ip link set eth1 mtu 1500"],
  ["ip link del vni110", ""],
  ["bridge link set dev vni110 isolated on", "bridge link set dev vni110 isolated off"],
  ["ip address del 192.168.11.12/24 dev eth1", "ip address replace 192.168.11.12/24 dev eth1"],
  [
    "ip route del 100.65.0.0 via 192.168.11.2 dev eth1 proto bgp metric 20",
    "ip route replace 100.65.0.0 via 192.168.11.2 dev eth1 proto bgp metric 20",
  ],
  ["ip route add blackhole 100.65.0.0 metric 0", "ip route del blackhole 100.65.0.0 metric 0"],
  [
    "ip route replace blackhole 10.1.0.0/24 metric 0",
    "ip route del blackhole 10.1.0.0/24 metric 0; ip route replace 10.1.0.0/24 via 192.168.11.2 dev eth1",
  ],
  ["ip rule del pref 1000 from all l3mdev", "ip rule add pref 1000 from all l3mdev"],
  ["ip rule add pref 5 to 100.65.0.0 blackhole", "ip rule del pref 5"],
  ["ip neigh del 192.168.11.2 dev eth1", ""],
  ["ip neigh del 10.110.0.11 dev br-pe-110", "ip neigh replace 10.110.0.11 dev br-pe-110 lladdr 02:00:00:00:00:08 extern_learn nud noarp"],
  [
    "bridge fdb del 00:00:00:00:00:00 dev vni110 dst 100.65.0.0 self",
    "bridge fdb append 00:00:00:00:00:00 dev vni110 dst 100.65.0.0 self permanent",
  ],
  ["bridge fdb del 02:00:00:00:00:08 dev vni110 master", "bridge fdb replace 02:00:00:00:00:08 dev vni110 master static extern_learn"],
  ["echo 0 >/proc/sys/net/ipv4/ip_forward", "echo 1 >/proc/sys/net/ipv4/ip_forward"],
  ["tc qdisc add dev eth1 root netem loss 30%", "tc qdisc del dev eth1 root"],
])("%s is undone", (make, undo) => {
  expect(made.find((change) => change.make === make)?.undo).toBe(undo);
});

test("an nftables rule is removed by its handle, and its table is restored without handles", () => {
  const { undo = "" } = made.find(({ make }) => make === "nft delete rule inet web input handle 4") ?? {};
  expect(undo).toContain(
    "nft -f - <<'END'\ntable inet web {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n\t\ttcp dport 80 accept\n\t}\n}\nEND",
  );
});

test("foreign links are not deleted, because they would not be restored", () => {
  expect(made.map(({ make }) => make)).not.toContain("ip link del eth1");
});

test("a restored object is recognized, and a changed one is reported", () => {
  const { was = "" } = made.find(({ make }) => make === "ip link set vni110 nomaster") ?? {};
  expect(describeState(state)).toContain(was);
  expect(describeState(parseState(STATE.replace('"master":"br-pe-110",', "")))).not.toContain(was);
});

test("objects that the kernel removed with another are restored, except those of FRR and the kernel", () => {
  const now = parseState(
    STATE.replaceAll(/^(100|10|local).*\n/gm, "")
      .replace("ip_forward:1", "ip_forward:0")
      .replace('"isolated":false', '"isolated":true'),
  );
  expect(sideEffects(state, now)).toEqual([
    "bridge link set dev vni110 isolated off",
    "echo 1 >/proc/sys/net/ipv4/ip_forward",
    "ip route replace 10.1.0.0/24 via 192.168.11.2 dev eth1",
  ]);
  expect(sideEffects(state, state)).toEqual([]);
});

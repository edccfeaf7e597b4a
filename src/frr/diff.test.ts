import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { routers } from "./testing/generators.ts";
import { ConfigSet } from "./config-set.ts";
import { merge, parse } from "./config.ts";
import { changes, diff, type LineChange } from "./diff.ts";
import { entriesOf } from "./entry.ts";
import type { ConfigLine } from "./fragment.ts";

const sent = (have: string, want: string) => diff(parse(have), parse(want)).map(({ context, send }) => [...context, send].join(" / "));

const BGP = `router bgp 64514
 bgp router-id 10.0.0.1
 no bgp default ipv4-unicast
 neighbor 192.168.11.2 remote-as 64512
 neighbor 192.168.11.2 bfd
 neighbor 192.168.11.2 bfd profile fast
 neighbor 192.168.11.2 password s3cret
 neighbor 192.168.11.2 timers 3 9
 neighbor 192.168.11.2 timers connect 5
 address-family ipv4 unicast
  network 100.65.0.1/32
  neighbor 192.168.11.2 activate
  neighbor 192.168.11.2 allowas-in
 exit-address-family
exit
`;
const within = (text: string, before: string, after: string) => {
  expect(text).toContain(before);
  return text.replace(before, after);
};

test("equal configurations in any order need no line", () => {
  expect(sent(`hostname a\n${BGP}`, `${BGP}hostname a\n`)).toEqual([]);
});

describe("a single-valued line", () => {
  test.each([
    ["bgp router-id 10.0.0.1", "bgp router-id 10.0.0.2"],
    ["neighbor 192.168.11.2 password s3cret", "neighbor 192.168.11.2 password other"],
    ["neighbor 192.168.11.2 timers 3 9", "neighbor 192.168.11.2 timers 10 30"],
    ["neighbor 192.168.11.2 timers connect 5", "neighbor 192.168.11.2 timers connect 6"],
    ["neighbor 192.168.11.2 bfd profile fast", "neighbor 192.168.11.2 bfd profile slow"],
  ])("%s is replaced by one line", (before, after) => {
    expect(sent(BGP, within(BGP, before, after))).toEqual([`router bgp 64514 / ${after}`]);
  });

  test("with the VNI of a VRF is removed first, since FRR does not replace it", () => {
    expect(sent("vrf red\n vni 100\nexit-vrf\n", "vrf red\n vni 200\nexit-vrf\n")).toEqual(["vrf red / no vni 100", "vrf red / vni 200"]);
  });

  test("that moves to another VRF is removed before it is added", () => {
    expect(sent("vrf red\n vni 100\nexit-vrf\n", "vrf blue\n vni 100\nexit-vrf\n")).toEqual(["vrf red / no vni 100", "vrf blue / vni 100"]);
  });
});

describe("removal", () => {
  test("of a neighbor takes one line, whatever its settings", () => {
    const without = BGP.split("\n")
      .filter((line) => !line.includes("192.168.11.2"))
      .join("\n");
    expect(sent(BGP, without)).toEqual(["router bgp 64514 / no neighbor 192.168.11.2 remote-as 64512"]);
  });

  test("of an instance takes one line", () => {
    expect(sent(BGP, "")).toEqual(["no router bgp 64514"]);
  });

  test("of BFD of a neighbor includes its profile", () => {
    const without = within(BGP, " neighbor 192.168.11.2 bfd\n neighbor 192.168.11.2 bfd profile fast\n", "");
    expect(sent(BGP, without)).toEqual(["router bgp 64514 / no neighbor 192.168.11.2 bfd"]);
  });

  test("of a line that starts with no is the line without it", () => {
    expect(sent("router bgp 1\n no bgp network import-check\nexit\n", "router bgp 1\nexit\n")).toEqual([
      "router bgp 1 / bgp network import-check",
    ]);
  });

  test.each([
    ["detect-multiplier 5", "detect-multiplier 3"],
    ["transmit-interval 100", "transmit-interval 300"],
    ["receive-interval 100", "receive-interval 300"],
    ["echo transmit-interval 60", "echo transmit-interval 50"],
    ["echo receive-interval 60", "echo receive-interval 50"],
    ["minimum-ttl 10", "no minimum-ttl 10"],
    ["passive-mode", "no passive-mode"],
  ])("%s of a BFD profile is %s", (line, back) => {
    expect(sent(`bfd\n profile fast\n  ${line}\n exit\nexit\n`, "bfd\n profile fast\n exit\nexit\n")).toEqual([
      `bfd / profile fast / ${back}`,
    ]);
  });

  test("skips FRR's own lines and empty VRFs", () => {
    expect(sent("frr version 8.4.4\nhostname vm\nno ip forwarding\nvrf red\nexit-vrf\ninterface eth0\nexit\n", "")).toEqual([]);
  });
});

describe("a neighbor in another AS", () => {
  test("is removed and recreated with all its settings", () => {
    expect(sent(BGP, within(BGP, "remote-as 64512", "remote-as 64513"))).toEqual([
      "router bgp 64514 / no neighbor 192.168.11.2 remote-as 64512",
      "router bgp 64514 / neighbor 192.168.11.2 remote-as 64513",
      "router bgp 64514 / neighbor 192.168.11.2 bfd",
      "router bgp 64514 / neighbor 192.168.11.2 bfd profile fast",
      "router bgp 64514 / neighbor 192.168.11.2 password s3cret",
      "router bgp 64514 / neighbor 192.168.11.2 timers 3 9",
      "router bgp 64514 / neighbor 192.168.11.2 timers connect 5",
      "router bgp 64514 / address-family ipv4 unicast / neighbor 192.168.11.2 activate",
      "router bgp 64514 / address-family ipv4 unicast / neighbor 192.168.11.2 allowas-in",
    ]);
  });
});

const unnumbered = (asn: string, ...more: string[]) => `router bgp 64500
 neighbor eth0 interface remote-as ${asn}
${more.map((setting) => ` neighbor eth0 ${setting}\n`).join("")}exit
`;

describe("an interface instead of an address", () => {
  test("in another AS is removed and recreated with all its settings", () => {
    expect(sent(unnumbered("external", "timers 3 9"), unnumbered("64501", "timers 3 9"))).toEqual([
      "router bgp 64500 / no neighbor eth0 interface remote-as external",
      "router bgp 64500 / neighbor eth0 interface remote-as 64501",
      "router bgp 64500 / neighbor eth0 timers 3 9",
    ]);
  });

  test("is removed with one line", () => {
    expect(sent(unnumbered("external", "bfd", "bfd profile fast"), "router bgp 64500\nexit\n")).toEqual([
      "router bgp 64500 / no neighbor eth0 interface remote-as external",
    ]);
  });
});

const announced = (name: string) => `route-map class-${name} permit 1
 set tag 7
exit
router bgp 64500
 address-family ipv4 unicast
  network 10.0.0.1/32 route-map class-${name}
 exit-address-family
exit
`;

test("a prefix that moves to another class takes one line, and its old class is removed after it", () => {
  expect(sent(announced("a"), announced("b"))).toEqual([
    "route-map class-b permit 1",
    "route-map class-b permit 1 / set tag 7",
    "router bgp 64500 / address-family ipv4 unicast / network 10.0.0.1/32 route-map class-b",
    "no route-map class-a permit 1",
  ]);
});

test("a community equals its name in FRR 8.4", () => {
  expect(sent("route-map a permit 1\n set community internet 1:1\nexit\n", "route-map a permit 1\n set community 0:0 1:1\nexit\n")).toEqual(
    [],
  );
});

describe("order", () => {
  const whole = `vrf red
 vni 100
exit-vrf
router bgp 64514 vrf red
 neighbor 10.0.0.2 remote-as 64515
 address-family ipv4 unicast
  neighbor 10.0.0.2 activate
  neighbor 10.0.0.2 route-map allowall in
 exit-address-family
exit
router bgp 64514
 neighbor 192.168.11.2 remote-as 64512
 neighbor 192.168.11.2 bfd
 neighbor 192.168.11.2 bfd profile fast
 no bgp default ipv4-unicast
exit
bfd
 profile fast
 exit
exit
route-map allowall permit 1
exit
`;

  test("from empty: policy, the default instance, the VRF's, then its VNI", () => {
    expect(sent("", whole)).toEqual([
      "route-map allowall permit 1",
      "bfd",
      "bfd / profile fast",
      "router bgp 64514",
      "router bgp 64514 / no bgp default ipv4-unicast",
      "router bgp 64514 / neighbor 192.168.11.2 remote-as 64512",
      "router bgp 64514 / neighbor 192.168.11.2 bfd",
      "router bgp 64514 / neighbor 192.168.11.2 bfd profile fast",
      "router bgp 64514 vrf red",
      "router bgp 64514 vrf red / neighbor 10.0.0.2 remote-as 64515",
      "router bgp 64514 vrf red / address-family ipv4 unicast / neighbor 10.0.0.2 activate",
      "router bgp 64514 vrf red / address-family ipv4 unicast / neighbor 10.0.0.2 route-map allowall in",
      "vrf red / vni 100",
    ]);
  });

  test("to empty: the VNI, the VRF's instance, the default one, policy last", () => {
    expect(sent(whole, "")).toEqual([
      "vrf red / no vni 100",
      "no router bgp 64514 vrf red",
      "no router bgp 64514",
      "no bfd",
      "no route-map allowall permit 1",
    ]);
    expect(diff(parse(whole), []).map(({ awaitsVniGone }) => awaitsVniGone)).toEqual([false, true, false, false, false]);
  });

  test("a policy is removed after its user has another", () => {
    const other = whole.replaceAll("fast", "slow");
    expect(sent(whole, other)).toEqual([
      "bfd / profile slow",
      "router bgp 64514 / neighbor 192.168.11.2 bfd profile slow",
      "bfd / no profile fast",
    ]);
  });

  test("an instance of a VRF in another AS waits for the removal of its VNI, which is added again", () => {
    const have = "vrf red\n vni 100\nexit-vrf\nrouter bgp 64514 vrf red\n bgp router-id 1.1.1.1\nexit\n";
    expect(sent(have, have.replace("64514", "64520"))).toEqual([
      "vrf red / no vni 100",
      "no router bgp 64514 vrf red",
      "router bgp 64520 vrf red",
      "router bgp 64520 vrf red / bgp router-id 1.1.1.1",
      "vrf red / vni 100",
    ]);
  });

  test("an instance of a VRF that gets another VNI is removed and added again", () => {
    const have = "vrf red\n vni 100\nexit-vrf\nrouter bgp 64514 vrf red\n bgp router-id 1.1.1.1\nexit\n";
    expect(sent(have, have.replace("vni 100", "vni 200"))).toEqual([
      "vrf red / no vni 100",
      "no router bgp 64514 vrf red",
      "router bgp 64514 vrf red",
      "router bgp 64514 vrf red / bgp router-id 1.1.1.1",
      "vrf red / vni 200",
    ]);
  });

  test("an instance of a VRF that bgpd lost is created without its VNI, so that bgpd derives none itself", () => {
    expect(sent("vrf red\n vni 100\nexit-vrf\n", "vrf red\n vni 100\nexit-vrf\nrouter bgp 1 vrf red\nexit\n")).toEqual([
      "vrf red / no vni 100",
      "router bgp 1 vrf red",
      "vrf red / vni 100",
    ]);
  });
});

test("an instance that is restarted for another VNI does not restore a value of another owner that is replaced", () => {
  const have = "vrf red\n vni 100\nexit-vrf\nrouter bgp 1 vrf red\n bgp router-id 1.1.1.1\nexit\n";
  const set = new ConfigSet(entriesOf(parse(have), () => ["frr"]));
  const add = entriesOf(parse("vrf red\n vni 200\nexit-vrf\nrouter bgp 1 vrf red\n bgp router-id 2.2.2.2\nexit\n"), () => ["frr"]);
  expect(changes(set, { remove: [], add, wanted: () => true }).map(({ send }) => send)).toEqual([
    "no vni 100",
    "no router bgp 1 vrf red",
    "router bgp 1 vrf red",
    "bgp router-id 2.2.2.2",
    "vni 200",
  ]);
});

test("a removed line does not restore the line of another owner that it replaced", () => {
  const set = new ConfigSet(entriesOf(parse("router bgp 1 vrf red\n bgp router-id 1.1.1.1\nexit\n"), () => ["frr"]));
  const add = entriesOf(parse("router bgp 2 vrf red\nexit\n"), () => ["frr"]);
  expect(changes(set, { remove: [], add, wanted: () => true }).map(({ send }) => send)).toEqual([
    "no router bgp 1 vrf red",
    "router bgp 2 vrf red",
  ]);
});

/** FRR as far as the differ has to know it: what is sent, what goes with it, and what FRR would reject or answer with a reset. */
function carriedOut(have: readonly ConfigLine[], changes: readonly LineChange[]): { lines: Set<string>; complaints: string[] } {
  const set = new ConfigSet(entriesOf(have, () => ["frr"]));
  const problems: string[] = [];
  for (const { send, entry, drops, do: what } of changes) {
    for (const entry of drops) set.delete(entry);
    if (set.has(entry) !== (what === "remove")) problems.push(`${send}: sent in vain`);
    if (what === "add" && set.rivalsOf(entry).some(({ slot }) => !slot.replaces)) problems.push(`${send}: has a rival`);
    if (what === "remove" && set.goesWith(entry).length) problems.push(`${send}: drops more than it says`);
    if (what === "add") set.add(entry);
    else set.delete(entry);
  }
  return { lines: new Set([...set].map(({ key }) => key)), complaints: problems };
}

test("an applied diff results in the wanted configuration, and a second diff is empty", () => {
  fc.assert(
    fc.property(routers, routers, (before, after) => {
      const [have, want] = [merge(before), merge(after)];
      const { lines: got, complaints } = carriedOut(have, diff(have, want));
      expect(complaints).toEqual([]);
      const missing = entriesOf(want, () => ["frr"]).filter(({ key }) => !got.delete(key));
      expect(missing.map(({ line }) => line)).toEqual([]);
      // A hostname is FRR's to have.
      expect([...got].filter((key) => !key.includes("\nhostname "))).toEqual([]);
      expect(diff(want, want)).toEqual([]);
    }),
    { seed: 3, numRuns: 200 },
  );
});

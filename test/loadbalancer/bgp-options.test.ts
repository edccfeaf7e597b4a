import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { FrrPass } from "../../src/frr/apply.ts";
import { parse } from "../../src/frr/config.ts";
import { parseAddress } from "../../src/ip/address.ts";
import { parsePrefix } from "../../src/ip/prefix.ts";
import type { Advertised } from "../../src/loadbalancer/announcement/decision.ts";
import { config, peer, profile } from "../../src/loadbalancer/testing/announcement-fixtures.ts";
import type { Peer } from "../../src/loadbalancer/config/config.ts";
import { SessionPoller } from "../../src/loadbalancer/speaker/bgp/sessions.ts";
import { speakerOn, type SpeakerOnFrr } from "../support/bgp-speaker.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace, run } from "../support/frr.ts";
import { ip } from "../support/namespaces.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const PATIENT = { timeout: 100_000, interval: 200 };
const FAST = profile("fast", { receiveInterval: 100, transmitInterval: 100 });
const WEB: Advertised[] = [
  { prefix: parsePrefix("198.51.100.1/32"), advertisement: "ad", created: 0, communities: [] },
  { prefix: parsePrefix("2001:db8:100::1/128"), advertisement: "ad", created: 0, communities: [] },
];

interface Case {
  readonly peer: Partial<Omit<Peer, "address">> & { address?: string };
  /** How the far side has the neighbor; its AS is 64599. */
  readonly far: readonly string[];
  readonly bfd?: string;
  /** Of what near announces. */
  readonly heard: readonly ("ipv4" | "ipv6")[];
}

/** Each on a wire of its own, by whose number its addresses go. */
const cases: Record<string, (wire: number) => Case> = {
  "an IPv4 address, with timers of its own": (wire) => ({
    peer: { address: `10.255.${wire}.2`, timers: { keepalive: 3, hold: 9 } },
    far: [`10.255.${wire}.1 remote-as 64500`],
    heard: ["ipv4"],
  }),
  "an IPv6 address": (wire) => ({
    peer: { address: `fd00:${wire}::2` },
    far: [`fd00:${wire}::1 remote-as 64500`],
    heard: ["ipv6"],
  }),
  "an IPv6 address and IPv4 as well": (wire) => ({
    peer: { address: `fd00:${wire}::2`, families: ["IPv4", "IPv6"] },
    far: [`fd00:${wire}::1 remote-as 64500`, `fd00:${wire}::1 capability extended-nexthop`],
    heard: ["ipv4", "ipv6"],
  }),
  "an IPv4 address and IPv6 as well": (wire) => ({
    peer: { address: `10.255.${wire}.2`, families: ["IPv4", "IPv6"] },
    far: [`10.255.${wire}.1 remote-as 64500`],
    heard: ["ipv4", "ipv6"],
  }),
  "an interface instead of an address, and whatever AS": (wire) => ({
    peer: { interface: `wire${wire}`, peerAsn: "external", families: ["IPv4", "IPv6"] },
    far: [`wire${wire} interface remote-as external`],
    heard: ["ipv4", "ipv6"],
  }),
  "BFD by a profile": (wire) => ({
    peer: { address: `10.255.${wire}.2`, bfdProfile: "fast" },
    far: [`10.255.${wire}.1 remote-as 64500`, `10.255.${wire}.1 bfd`],
    bfd: "Up",
    heard: ["ipv4"],
  }),
  "several hops, from an address of ours": (wire) => ({
    peer: { address: `10.254.${wire}.2`, ebgpMultiHop: true, sourceAddress: parseAddress(`10.254.${wire}.1`) },
    far: [`10.254.${wire}.1 remote-as 64500`, `10.254.${wire}.1 ebgp-multihop 255`, `10.254.${wire}.1 update-source 10.254.${wire}.2`],
    heard: ["ipv4"],
  }),
  "a password": (wire) => ({
    peer: { address: `10.255.${wire}.2`, password: "s3cret" },
    far: [`10.255.${wire}.1 remote-as 64500`, `10.255.${wire}.1 password s3cret`],
    heard: ["ipv4"],
  }),
  "another AS than ours": (wire) => ({
    peer: { address: `10.255.${wire}.2`, localAsn: 64700 },
    far: [`10.255.${wire}.1 remote-as 64700`],
    heard: ["ipv4"],
  }),
  "graceful restart": (wire) => ({
    peer: { address: `10.255.${wire}.2`, gracefulRestart: true },
    far: [`10.255.${wire}.1 remote-as 64500`],
    heard: ["ipv4"],
  }),
};
const wired = Object.entries(cases).map(([title, on], wire) => Object.assign(on(wire), { title, wire }));

describe.each(FRR_RELEASES)("FRR %s has a session", (version) => {
  let near: FrrInNamespace;
  let far: FrrInNamespace;
  let onFrr: SpeakerOnFrr;
  let poll: SessionPoller;
  const stop = new AbortController();
  let rung: string[] = [];
  let applied: Awaited<ReturnType<SpeakerOnFrr["speaker"]["apply"]>>;

  beforeAll(async () => {
    [near, far] = await Promise.all([frrInNamespace({ version, bgpPort: 0 }), frrInNamespace({ version })]);
    // A router on the wire, which far is to near, would give near another address, and that address is not a configured neighbor.
    for (const { netns } of [near, far]) await run("ip", "netns", "exec", netns, "sysctl", "-qw", "net.ipv6.conf.default.autoconf=0");
    for (const { wire } of wired) ip(near.netns, `link add wire${wire} type veth peer name wire${wire} netns ${far.netns}`);
    for (const [{ netns }, own, other] of [
      [near, 1, 2],
      [far, 2, 1],
    ] as const) {
      const lines = wired.flatMap(({ wire }) => [
        `address add 10.255.${wire}.${own}/24 dev wire${wire}`,
        `address add fd00:${wire}::${own}/64 dev wire${wire} nodad`,
        `address add 10.254.${wire}.${own}/32 dev lo`,
        `link set wire${wire} up`,
        `route add 10.254.${wire}.${other}/32 via 10.255.${wire}.${other}`,
      ]);
      ip(netns, ...lines);
    }
    onFrr = speakerOn(near);
    poll = new SessionPoller({
      router: near.instance.router,
      everyMs: 100,
      onChange: () => rung.push("change"),
      onRestart: () => rung.push("restart"),
    });
    void poll.run(stop.signal);
    await farSays(wired.flatMap((one) => one.far));
    const peers = wired.map(({ wire, peer: more }) => peer(`far${wire}`, { peerAsn: 64599, connectTime: 1, ...more }));
    const wanted = config({ peers, bfdProfiles: [FAST] });
    const node = { name: "node-a", internalIPv4: "10.255.0.1" };
    const services = new Map([["shop/web", WEB]]);
    applied = await onFrr.speaker.apply({ config: wanted, node, services }, signal);
  });
  afterAll(async () => {
    stop.abort();
    await Promise.all([near.stop(), far.stop()]);
  });

  /** `<neighbor> <words>`: all of them at once. */
  const farSays = async (neighbors: readonly string[]) => {
    const names = [...new Set(neighbors.map((line) => line.split(" ")[0]))];
    const quick = names.map((name) => `neighbor ${name} timers connect 1`);
    const active = names.map((name) => ` neighbor ${name} activate`);
    const both = ["ipv4", "ipv6"].flatMap((family) => [`address-family ${family} unicast`].concat(active, "exit-address-family"));
    const neighborLines = neighbors.map((line) => `neighbor ${line}`);
    const text = ["router bgp 64599", "no bgp ebgp-requires-policy", ...neighborLines, ...quick, ...both, "exit", ""].join("\n");
    const pass = await FrrPass.open(far.instance, [], signal);
    const { rejected } = await pass.apply({ owner: "Underlay/far", lines: parse(text) });
    if (rejected) throw new Error(`the far side does not take ${text}`);
    await pass.finish();
  };
  /** What far has of a neighbor, by family. */
  const heard = async (neighbor: string) => {
    const vty = await far.instance.router.vty("bgpd", signal);
    const from = async (family: string, prefix: string) => {
      const { routes } = await vty.json<{ routes?: object }>(`show bgp ${family} unicast neighbors ${neighbor} routes json`, signal);
      return Object.keys(routes ?? {}).includes(prefix) ? [family] : [];
    };
    return [...(await from("ipv4", "198.51.100.1/32")), ...(await from("ipv6", "2001:db8:100::1/128"))];
  };
  const spoken = (neighbor: string) => poll.sessions?.find((session) => session.neighbor === neighbor);

  test("with all options of its peers at once", () => {
    expect(applied).toMatchObject({ failures: [], drift: [] });
  });

  test.each(wired)("by $title", async ({ peer: more, far: [line = ""], bfd = "N/A", heard: expected }) => {
    const neighbor = more.address ?? more.interface ?? "";
    await expect.poll(() => spoken(neighbor), PATIENT).toMatchObject({ vrf: "default", neighbor, state: "Established", bfd });
    await expect.poll(() => heard(line.split(" ")[0] ?? ""), PATIENT).toEqual(expected);
  });

  test("that is reported when the other side closes it, with its reason, and when FRR does not answer", async () => {
    expect(spoken("10.255.0.2")?.since).toMatch(/^\d{4}-.*Z$/);
    rung = [];

    const [ended, ...others] = wired.map((one) => one.far);
    await farSays([...(ended ?? []), "10.255.0.1 shutdown", ...others.flat()]);
    await expect.poll(() => spoken("10.255.0.2")?.state, PATIENT).not.toBe("Established");
    await expect.poll(() => spoken("10.255.0.2")?.lastResetReason, PATIENT).toMatch(/^BGP Notification received: Cease\/Administrat/);
    expect(rung).toContain("change");
    expect(rung).not.toContain("restart");
    for (const { peer: more } of wired.slice(1)) expect(spoken(more.address ?? more.interface ?? "")?.state).toBe("Established");

    await near.instance.stop();
    await vi.waitUntil(() => poll.sessions === undefined, PATIENT);
    await near.instance.start(signal);
    await vi.waitUntil(() => poll.sessions !== undefined, PATIENT);
    expect(rung).toContain("restart");
  });
});

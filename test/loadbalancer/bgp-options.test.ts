import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { FrrPass } from "../../src/frr/apply.ts";
import { parse } from "../../src/frr/config.ts";
import { parseAddress } from "../../src/ip/address.ts";
import { parsePrefix } from "../../src/ip/prefix.ts";
import type { Advertised } from "../../src/loadbalancer/announce/decision.ts";
import { config, peer, profile } from "../../src/loadbalancer/announce/specimen.ts";
import type { Peer } from "../../src/loadbalancer/config/config.ts";
import { SessionPoll } from "../../src/loadbalancer/speaker/bgp/sessions.ts";
import { speakerOn, type SpeakerOnFrr } from "../support/bgp-speaker.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace } from "../support/frr.ts";
import { ip } from "../support/namespaces.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const PATIENT = { timeout: 100_000, interval: 200 };
const FAST = profile("fast", { receiveInterval: 100, transmitInterval: 100 });
const WEB: Advertised[] = [
  { prefix: parsePrefix("198.51.100.1/32"), advertisement: "ad", communities: [] },
  { prefix: parsePrefix("2001:db8:100::1/128"), advertisement: "ad", communities: [] },
];

interface Case {
  readonly peer: Partial<Omit<Peer, "address">> & { address?: string };
  /** How the far side has it; its AS is 64599. */
  readonly far: string;
  readonly bfd?: string;
  /** Of what near announces. */
  readonly heard: readonly ("ipv4" | "ipv6")[];
}

const cases: Record<string, Case> = {
  "an IPv4 address, with timers of its own": {
    peer: { address: "10.255.0.2", timers: { keepalive: 3, hold: 9 } },
    far: "neighbor 10.255.0.1 remote-as 64500",
    heard: ["ipv4"],
  },
  "an IPv6 address": { peer: { address: "fd00:255::2" }, far: "neighbor fd00:255::1 remote-as 64500", heard: ["ipv6"] },
  "an IPv6 address and IPv4 as well": {
    peer: { address: "fd00:255::2", families: ["IPv4", "IPv6"] },
    far: "neighbor fd00:255::1 remote-as 64500\nneighbor fd00:255::1 capability extended-nexthop",
    heard: ["ipv6"],
  },
  "an IPv4 address and IPv6 as well": {
    peer: { address: "10.255.0.2", families: ["IPv4", "IPv6"] },
    far: "neighbor 10.255.0.1 remote-as 64500",
    heard: ["ipv4", "ipv6"],
  },
  "an interface instead of an address, and whatever AS": {
    peer: { interface: "wire", peerAsn: "external", families: ["IPv4", "IPv6"] },
    far: "neighbor wire interface remote-as external",
    heard: ["ipv4", "ipv6"],
  },
  "BFD by a profile": {
    peer: { address: "10.255.0.2", bfdProfile: "fast" },
    far: "neighbor 10.255.0.1 remote-as 64500\nneighbor 10.255.0.1 bfd",
    bfd: "Up",
    heard: ["ipv4"],
  },
  "several hops, from an address of ours": {
    peer: { address: "10.254.0.2", ebgpMultiHop: true, sourceAddress: parseAddress("10.254.0.1") },
    far: "neighbor 10.254.0.1 remote-as 64500\nneighbor 10.254.0.1 ebgp-multihop 255\nneighbor 10.254.0.1 update-source 10.254.0.2",
    heard: ["ipv4"],
  },
  "a password": {
    peer: { address: "10.255.0.2", password: "s3cret" },
    far: "neighbor 10.255.0.1 remote-as 64500\nneighbor 10.255.0.1 password s3cret",
    heard: ["ipv4"],
  },
  "another AS than ours": {
    peer: { address: "10.255.0.2", localAsn: 64700 },
    far: "neighbor 10.255.0.1 remote-as 64700",
    heard: ["ipv4"],
  },
  "graceful restart": {
    peer: { address: "10.255.0.2", gracefulRestart: true },
    far: "neighbor 10.255.0.1 remote-as 64500",
    heard: ["ipv4"],
  },
};

describe.each(FRR_RELEASES)("FRR %s has a session", (version) => {
  let near: FrrInNamespace;
  let far: FrrInNamespace;
  let stage: SpeakerOnFrr;
  let poll: SessionPoll;
  const stop = new AbortController();
  let rung: string[] = [];

  beforeAll(async () => {
    [near, far] = await Promise.all([frrInNamespace({ version, bgpPort: 0 }), frrInNamespace({ version })]);
    ip(near.netns, `link add wire type veth peer name wire netns ${far.netns}`);
    for (const [{ netns }, own, other] of [
      [near, 1, 2],
      [far, 2, 1],
    ] as const) {
      ip(
        netns,
        `address add 10.255.0.${own}/24 dev wire`,
        `address add fd00:255::${own}/64 dev wire nodad`,
        `address add 10.254.0.${own}/32 dev lo`,
        "link set wire up",
        `route add 10.254.0.${other}/32 via 10.255.0.${other}`,
      );
    }
    stage = speakerOn(near);
    poll = new SessionPoll({
      router: near.instance.router,
      everyMs: 100,
      onChange: () => rung.push("change"),
      onRestart: () => rung.push("restart"),
    });
    void poll.run(stop.signal);
  });
  afterAll(async () => {
    stop.abort();
    await Promise.all([near.stop(), far.stop()]);
  });

  const farHas = async (text: string) => {
    const pass = await FrrPass.open(far.instance, [], signal);
    expect((await pass.bring({ owner: "Underlay/far", lines: parse(text) })).refused).toBeUndefined();
    await pass.finish();
  };
  const farSays = async (lines: string) => {
    const neighbor = /neighbor (\S+)/.exec(lines)?.[1];
    const both = ["ipv4", "ipv6"].map((family) => `address-family ${family} unicast\n neighbor ${neighbor} activate\nexit-address-family`);
    const text = `router bgp 64599\nno bgp ebgp-requires-policy\n${lines}\nneighbor ${neighbor} timers connect 1\n${both.join("\n")}\nexit\n`;
    await farHas(text);
  };
  const nearSays = async (more: Case["peer"]) => {
    const wanted = config({ peers: [peer("far", { peerAsn: 64599, connectTime: 1, ...more })], bfdProfiles: [FAST] });
    const services = new Map([["shop/web", WEB]]);
    const node = { name: "node-a", internalIPv4: "10.255.0.1" };
    expect(await stage.speaker.apply({ config: wanted, node, services }, signal)).toMatchObject({ failures: [], drift: [] });
  };
  const heard = async () => {
    const vty = await far.instance.router.vty("bgpd", signal);
    const rib = async (family: string) => (await vty.run(`show bgp ${family} unicast json`, signal)).text;
    const [v4, v6] = [await rib("ipv4"), await rib("ipv6")];
    return [...(v4.includes("198.51.100.1/32") ? ["ipv4"] : []), ...(v6.includes("2001:db8:100::1/128") ? ["ipv6"] : [])];
  };
  const spoken = () => poll.spoken?.[0];
  /** No session is left of what was before. */
  const nobody = async () => {
    await nearSays({ address: "203.0.113.1" });
    await expect.poll(() => spoken()?.neighbor, PATIENT).toBe("203.0.113.1");
    // A neighbor that FRR has tried in vain for a while it lets wait for up to two minutes.
    await farHas("router bgp 64599\nno bgp ebgp-requires-policy\nexit\n");
    await expect.poll(heard, PATIENT).toEqual([]);
  };

  test.each(Object.entries(cases))("by %s", async (_, { peer: more, far: lines, bfd = "N/A", heard: expected }) => {
    await nobody();
    await farSays(lines);
    await nearSays(more);
    const neighbor = more.address ?? more.interface;
    await expect.poll(spoken, PATIENT).toMatchObject({ vrf: "default", neighbor, state: "Established", bfd });
    await expect.poll(heard, PATIENT).toEqual(expect.arrayContaining([...expected]) as string[]);
  });

  test("that is told of when the other side ends it, in its words, and when FRR itself does not answer", async () => {
    await nobody();
    await farSays("neighbor 10.255.0.1 remote-as 64500");
    await nearSays({ address: "10.255.0.2" });
    await expect.poll(spoken, PATIENT).toMatchObject({ neighbor: "10.255.0.2", state: "Established" });
    const since = spoken()?.since;
    expect(since).toMatch(/^\d{4}-.*Z$/);
    rung = [];

    await farSays("neighbor 10.255.0.1 remote-as 64500\nneighbor 10.255.0.1 shutdown");
    await expect.poll(() => spoken()?.state, PATIENT).not.toBe("Established");
    await expect.poll(() => spoken()?.lastResetReason, PATIENT).toMatch(/^BGP Notification received: Cease\/Administrat/);
    expect(rung).toContain("change");
    expect(rung).not.toContain("restart");

    await near.instance.stop();
    await vi.waitUntil(() => poll.spoken === undefined, PATIENT);
    await near.instance.start(signal);
    await vi.waitUntil(() => poll.spoken !== undefined, PATIENT);
    expect(rung).toContain("restart");
  });
});

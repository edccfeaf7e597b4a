import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { bgpNeighbors } from "../../src/frr/neighbors.ts";
import { parsePrefix } from "../../src/ip/prefix.ts";
import type { Advertised } from "../../src/loadbalancer/announcement/decision.ts";
import { SentPrefixes } from "../../src/loadbalancer/speaker/bgp/sent-prefixes.ts";
import { config, peer } from "../../src/loadbalancer/testing/announcement-fixtures.ts";
import { speakerOn } from "../support/bgp-speaker.ts";
import { FRR_RELEASES, frrInNamespace, run, type FrrInNamespace } from "../support/frr.ts";

// What a session of a real FRR is seen to send, and why a real peer closes it.

const signal = AbortSignal.timeout(10 * 60_000);
const patient = { timeout: 60_000, interval: 200 };
const NEAR = "10.255.0.1";
const FAR = "10.255.0.2";
const TOR = peer("tor", { address: FAR, peerAsn: 64599, connectTime: 1, families: ["IPv4", "IPv6"] });
const offer = (prefix: string): Advertised => ({ prefix: parsePrefix(prefix), advertisement: "ad", created: 0, communities: [] });
const SERVICES = new Map([
  ["shop/web", [offer("172.16.0.1/32")]],
  ["shop/mail", [offer("172.16.0.2/32"), offer("2001:db8::1/128")]],
]);

describe.each(FRR_RELEASES)("FRR %s", (version) => {
  let near: FrrInNamespace;
  let far: FrrInNamespace;
  let sent: SentPrefixes;
  const speaker = () => speakerOn(near).speaker;
  let apply: (extras?: string) => Promise<void>;

  beforeAll(async () => {
    [near, far] = await Promise.all([frrInNamespace({ version, bgpPort: 0 }), frrInNamespace({ version })]);
    await run("ip", "link", "add", "eth0", "netns", near.netns, "type", "veth", "peer", "name", "eth0", "netns", far.netns);
    for (const [frr, address] of [
      [near, NEAR],
      [far, FAR],
    ] as const) {
      await run("ip", "-n", frr.netns, "addr", "add", `${address}/24`, "dev", "eth0");
      await run("ip", "-n", frr.netns, "link", "set", "eth0", "up");
    }
    await atFar("router bgp 64599", "no bgp ebgp-requires-policy", `neighbor ${NEAR} remote-as 64500`, `neighbor ${NEAR} timers connect 1`);
    const ours = speaker();
    sent = new SentPrefixes(near.instance.router);
    apply = async (extras = "") => {
      const { failures } = await ours.apply(
        { config: { ...config({ peers: [TOR] }), extras }, node: { name: "node-a", internalIPv4: NEAR }, services: SERVICES },
        signal,
      );
      if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join("; "));
      sent.want(ours.wanted);
    };
    await apply();
  });
  afterAll(() => Promise.all([near.stop(), far.stop()]));

  const atFar = async (...lines: string[]) => {
    const bgpd = await far.instance.router.open("bgpd", signal);
    await bgpd.configure(lines, signal);
    bgpd.close();
  };
  const session = async () => (await bgpNeighbors(near.instance.router, signal))[0];
  const read = async () => (await sent.read(await bgpNeighbors(near.instance.router, signal), signal)).get(`default ${FAR}`);
  const isClosed = (rejection: string | undefined) =>
    vi.waitFor(async () => {
      const { state, rejection: why } = (await session()) ?? { state: "gone" };
      expect([state === "Established", why]).toEqual([false, rejection]);
    }, patient);

  test("the prefixes of a family that the peer has not activated are missing, and are sent when it has", async () => {
    await vi.waitFor(
      async () =>
        expect(await read()).toEqual([
          { family: "IPv4", wanted: 2, sent: 2 },
          { family: "IPv6", wanted: 1, sent: 0, missing: ["2001:db8::1/128"] },
        ]),
      patient,
    );
    await atFar("router bgp 64599", "address-family ipv6 unicast", `neighbor ${NEAR} activate`);
    await vi.waitFor(
      async () =>
        expect(await read()).toEqual([
          { family: "IPv4", wanted: 2, sent: 2 },
          { family: "IPv6", wanted: 1, sent: 1 },
        ]),
      patient,
    );
  });

  test("a prefix that a route-map filters is missing until it is permitted", async () => {
    const extras = ["ip prefix-list web seq 1 permit 172.16.0.1/32", `route-map ${FAR}-out deny 1`, " match ip address prefix-list web"];
    await apply(extras.join("\n"));
    await vi.waitFor(
      async () => expect(await read()).toContainEqual({ family: "IPv4", wanted: 2, sent: 1, missing: ["172.16.0.1/32"] }),
      patient,
    );
    await apply();
    await vi.waitFor(async () => expect(await read()).toContainEqual({ family: "IPv4", wanted: 2, sent: 2 }), patient);
  });

  test("a peer that shuts the session down, or has too many prefixes, says so; a link that is down does not", async () => {
    await atFar("router bgp 64599", `neighbor ${NEAR} shutdown`);
    await isClosed("Cease/Administrative Shutdown");
    expect(await read()).toBeUndefined();
    await atFar("router bgp 64599", `no neighbor ${NEAR} shutdown`);
    await vi.waitFor(async () => expect(await session()).toMatchObject({ state: "Established" }), patient);
    expect(await session()).not.toHaveProperty("rejection");

    // FRR 8.4 compares before it counts: of two prefixes that arrive at a maximum of one the second is let in, and nothing closes.
    await vi.waitFor(async () => expect(await bgpNeighbors(far.instance.router, signal)).toMatchObject([{ receivedPrefixes: 3 }]), patient);
    await atFar("router bgp 64599", "address-family ipv4 unicast", `neighbor ${NEAR} maximum-prefix 1`);
    await isClosed("Cease/Maximum Number of Prefixes Reached");
    await atFar("router bgp 64599", "address-family ipv4 unicast", `no neighbor ${NEAR} maximum-prefix 1`);
    await (await far.instance.router.vty("bgpd", signal)).run("clear bgp *", signal);
    await vi.waitFor(async () => expect(await session()).toMatchObject({ state: "Established" }), patient);

    await run("ip", "-n", near.netns, "link", "set", "eth0", "down");
    await isClosed(undefined);
  });
});

import * as fc from "fast-check";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { FrrPass } from "../../src/frr/apply.ts";
import { parse } from "../../src/frr/config.ts";
import { bgpNeighbors } from "../../src/frr/neighbors.ts";
import { parseAddress } from "../../src/ip/address.ts";
import { parsePrefix } from "../../src/ip/prefix.ts";
import type { Advertised } from "../../src/loadbalancer/announcement/decision.ts";
import { config, peer } from "../../src/loadbalancer/testing/announcement-fixtures.ts";
import { speakers } from "../../src/loadbalancer/testing/bgp-generators.ts";
import type { DesiredBgp } from "../../src/loadbalancer/speaker/bgp/apply.ts";
import { speakerOn, type SpeakerOnFrr } from "../support/bgp-speaker.ts";
import { FRR_RELEASES, frrInNamespace, run, type FrrInNamespace } from "../support/frr.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const NEAR = "10.255.0.1";
const FAR = "10.255.0.2";
const STEADY = peer("steady", { address: FAR, peerAsn: 64599, connectTime: 1 });
const COMMUNITIES = ["64512:1", "large:64512:1:2"];
const SERVICES = 10_000;

const offer = (prefix: string, more: Partial<Advertised> = {}): Advertised => ({
  prefix: parsePrefix(prefix),
  advertisement: "ad",
  created: 0,
  communities: COMMUNITIES,
  ...more,
});
const createdAgain = (vrf: string) => [`BGP instance of VRF ${vrf}: bgpd did not know its interfaces; created again`];
const prefixOf = (index: number) => `172.16.${index >> 8}.${index & 255}/32`;

async function session(frr: FrrInNamespace, address: string): Promise<{ state: string; established: number; upMs: number }> {
  const vty = await frr.instance.router.vty("bgpd", signal);
  const neighbors = await vty.json<Record<string, { bgpState: string; connectionsEstablished: number; bgpTimerUpMsec?: number }>>(
    "show bgp neighbors json",
    signal,
  );
  const found = neighbors[address];
  return { state: found?.bgpState ?? "gone", established: found?.connectionsEstablished ?? 0, upMs: found?.bgpTimerUpMsec ?? 0 };
}

interface Route {
  readonly paths: readonly { community?: { list: string[] }; largeCommunity?: { list: string[] } }[];
}

describe.each(FRR_RELEASES)("a session of FRR %s", (version) => {
  let near: FrrInNamespace;
  let far: FrrInNamespace;
  let onFrr: SpeakerOnFrr;
  const services = new Map<string, readonly Advertised[]>();
  const steadily = (more: Partial<DesiredBgp> = {}): DesiredBgp => ({
    config: config({ peers: [STEADY] }),
    node: { name: "node-a", internalIPv4: NEAR },
    services,
    ...more,
  });

  const received = async () => {
    const [neighbor] = await bgpNeighbors(far.instance.router, signal);
    return neighbor?.receivedPrefixes;
  };
  const route = async (prefix: string) => {
    const vty = await far.instance.router.vty("bgpd", signal);
    return await vty.json<Partial<Route>>(`show bgp ipv4 unicast ${prefix} json`, signal);
  };

  beforeAll(async () => {
    [near, far] = await Promise.all([frrInNamespace({ version, bgpPort: 0 }), frrInNamespace({ version })]);
    await run("ip", "-n", near.netns, "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", far.netns);
    await run("ip", "-n", near.netns, "address", "add", `${NEAR}/30`, "dev", "wire");
    await run("ip", "-n", far.netns, "address", "add", `${FAR}/30`, "dev", "wire");
    for (const { netns } of [near, far]) await run("ip", "-n", netns, "link", "set", "wire", "up");
    const other = await FrrPass.open(far.instance, [], signal);
    await other.apply({
      owner: "Underlay/far",
      lines: parse(`router bgp 64599
 no bgp ebgp-requires-policy
 neighbor ${NEAR} remote-as 64500
 neighbor ${NEAR} passive
exit
`),
    });
    await other.finish();
    onFrr = speakerOn(near);
    for (let index = 0; index < SERVICES; index++) services.set(`shop/web-${index}`, [offer(prefixOf(index))]);
    await onFrr.speaker.apply(steadily(), signal);
    await vi.waitUntil(async () => (await received()) === SERVICES, { timeout: 60_000, interval: 200 });
  });
  afterAll(async () => {
    await Promise.all([near.stop(), far.stop()]);
  });

  /** What is done leaves the session as it was, on either side. */
  const withoutReset = async (what: () => Promise<void>) => {
    const before = [await session(near, FAR), await session(far, NEAR)];
    await what();
    // FRR resets a session soon, not at once.
    await sleep(2_000);
    const after = [await session(near, FAR), await session(far, NEAR)];
    expect(after).toMatchObject(before.map(({ established }) => ({ state: "Established", established })));
    for (const [index, { upMs }] of before.entries()) expect(after[index]?.upMs).toBeGreaterThan(upMs);
  };

  test("adding or removing one of ten thousand Services takes one line", async () => {
    await withoutReset(async () => {
      services.set("shop/more", [offer("172.31.0.1/32")]);
      expect(await onFrr.speaker.apply(steadily(), signal)).toEqual({ failures: [], changed: 1, drift: [] });
      await expect.poll(received, { timeout: 60_000 }).toBe(SERVICES + 1);
      expect((await route("172.31.0.1/32")).paths).toMatchObject([
        { community: { list: ["64512:1"] }, largeCommunity: { list: ["64512:1:2"] } },
      ]);
      services.delete("shop/more");
      expect(await onFrr.speaker.apply(steadily(), signal)).toEqual({ failures: [], changed: 1, drift: [] });
      await expect.poll(received, { timeout: 60_000 }).toBe(SERVICES);
    });
  });

  test("a Service whose communities change is announced again", async () => {
    await withoutReset(async () => {
      services.set("shop/web-1", [offer(prefixOf(1), { advertisement: "other", communities: ["64512:2"] })]);
      await onFrr.speaker.apply(steadily(), signal);
      const list = async () => (await route(prefixOf(1))).paths?.[0]?.community?.list;
      await expect.poll(list, { timeout: 60_000 }).toEqual(["64512:2"]);
    });
  });

  test("survives any change of other lines", async () => {
    await withoutReset(async () => {
      for (const wanted of fc.sample(speakers, { seed: 7, numRuns: 20 })) {
        const others = [...wanted.config.peers.values()].filter(({ vrf, myAsn }) => vrf !== "" || myAsn === STEADY.myAsn);
        // The router-id is about all of them.
        for (const one of others) delete (one as { routerId?: string }).routerId;
        const both = { ...wanted.config, peers: new Map([STEADY, ...others].map((one) => [one.name, one])) };
        const { failures, drift } = await onFrr.speaker.apply(steadily({ config: both, services: wanted.services }), signal);
        expect({ failures: failures.filter(({ reason }) => reason === "ApplicationFailed"), drift }).toEqual({ failures: [], drift: [] });
      }
    });
  });

  test("a peer gets no prefix of other peers", async () => {
    const hidden = new Map([
      ["shop/web", [offer("172.16.0.1/32")]],
      ["shop/secret", [offer("172.16.0.2/32", { peers: new Set(["someone-else"]) })]],
    ]);
    await onFrr.speaker.apply(steadily({ services: hidden }), signal);
    await expect.poll(received, { timeout: 60_000 }).toBe(1);
    expect((await route("172.16.0.2/32")).paths).toBeUndefined();
  });

  test("a recreated instance announces everything again, and other instances stay unchanged", async () => {
    const peers = [STEADY, peer("green", { address: "10.255.9.2", peerAsn: 64599, vrf: "green" })];
    const few = new Map([["shop/web", [offer("172.16.0.1/32")]]]);
    const wanted = steadily({ config: config({ peers }), services: few });
    await onFrr.speaker.apply(wanted, signal);
    await withoutReset(async () => {
      const { failures, drift } = await onFrr.speaker.apply({ ...wanted, lostVrfs: new Set(["green"]) }, signal);
      expect({ failures, drift }).toEqual({ failures: [], drift: createdAgain("green") });
      const vrfs = (await bgpNeighbors(near.instance.router, signal)).map(({ vrf }) => vrf);
      expect(vrfs.toSorted()).toEqual(["default", "green"]);
    });
    const { established } = await session(far, NEAR);
    const { failures, drift } = await onFrr.speaker.apply({ ...wanted, lostVrfs: new Set(["default"]) }, signal);
    expect({ failures, drift }).toEqual({ failures: [], drift: createdAgain("default") });
    await expect.poll(async () => (await session(far, NEAR)).established, { timeout: 60_000 }).toBeGreaterThan(established);
    await expect.poll(received, { timeout: 60_000 }).toBe(1);
  });

  test("a session from an address that no interface has is recognized", async () => {
    await run("ip", "-n", near.netns, "route", "add", "local", "10.9.0.1/32", "dev", "lo");
    await run("ip", "-n", near.netns, "route", "add", "10.254.0.2/32", "via", FAR);
    await run("ip", "-n", far.netns, "address", "add", "10.254.0.2/32", "dev", "lo");
    await run("ip", "-n", far.netns, "route", "add", "10.9.0.1/32", "via", NEAR);
    const sourceAddress = parseAddress("10.9.0.1");
    const peers = [STEADY, peer("odd", { address: "10.254.0.2", peerAsn: 64599, ebgpMultiHop: true, sourceAddress, connectTime: 1 })];
    await onFrr.speaker.apply(steadily({ config: config({ peers }), services: new Map() }), signal);
    const lacking = async () =>
      (await bgpNeighbors(near.instance.router, signal)).filter(({ lacksInterface }) => lacksInterface).map(({ neighbor }) => neighbor);
    await expect.poll(lacking, { timeout: 60_000 }).toEqual(["10.254.0.2"]);
  });

  test("another AS number resets it, and everything is announced again", async () => {
    const other = await FrrPass.open(far.instance, [], signal);
    await other.apply({
      owner: "Underlay/far",
      lines: parse(`router bgp 64599\n no bgp ebgp-requires-policy\n neighbor ${NEAR} remote-as 64600\n neighbor ${NEAR} passive\nexit\n`),
    });
    await other.finish();
    const moved = peer("steady", { address: FAR, peerAsn: 64599, connectTime: 1, myAsn: 64600 });
    const few = new Map([["shop/web", [offer("172.16.0.1/32")]]]);
    expect((await onFrr.speaker.apply(steadily({ config: config({ peers: [moved] }), services: few }), signal)).failures).toEqual([]);
    await expect.poll(received, { timeout: 60_000 }).toBe(1);
    await onFrr.speaker.bootFileWritten();
    expect(onFrr.boot).not.toContain("64500");
  });
});

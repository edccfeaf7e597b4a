import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gobgpBinaries } from "../../lab/gobgp/binaries.ts";
import { GobgpPeer, type LearnedRoute } from "../../lab/gobgp/gobgp-peer.ts";
import { silent } from "../../lab/progress.ts";
import { decideBgp } from "../../src/loadbalancer/announcement/bgp-decision.ts";
import type { Advertised } from "../../src/loadbalancer/announcement/decision.ts";
import { PoolIndex } from "../../src/loadbalancer/config/pool-index.ts";
import { bgpAd, config, node, peer, pool, service } from "../../src/loadbalancer/testing/announcement-fixtures.ts";
import type { BgpAd } from "../../src/loadbalancer/config/config.ts";
import { speakerOn, type SpeakerOnFrr } from "../support/bgp-speaker.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace } from "../support/frr.ts";
import { createNamespaces, ip, type TestNamespaces } from "../support/namespaces.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const OWN_ASN = 64500;
const FABRIC_ASN = 4200000001;
const POOLS = [pool("pool", ["198.51.100.0/24", "2001:db8:100::/64"])];
const PEERS = [
  peer("inside", { address: "10.255.1.2", peerAsn: "internal", connectTime: 1, families: ["IPv4", "IPv6"] }),
  peer("outside", { address: "10.255.2.2", peerAsn: FABRIC_ASN, connectTime: 1, families: ["IPv4", "IPv6"], password: "s3cret" }),
];
const PATIENT = { timeout: 60_000, interval: 200 };
const plain = { communities: [], largeCommunities: [] };

/** GoBGP on either side of the AS, and our speaker dialing both. */
describe.each(FRR_RELEASES)("GoBGP receives from our FRR %s", (version) => {
  let frr: FrrInNamespace;
  let namespaces: TestNamespaces;
  let directory: string;
  let onFrr: SpeakerOnFrr;
  const others: GobgpPeer[] = [];

  beforeAll(async () => {
    const binaries = await gobgpBinaries(silent);
    directory = await mkdtemp(join(tmpdir(), "plumbline-gobgp-"));
    frr = await frrInNamespace({ version, bgpPort: 0 });
    namespaces = createNamespaces(2);
    onFrr = speakerOn(frr);
    for (const [index, netns] of namespaces.names.entries()) {
      const net = index + 1;
      ip(frr.netns, `link add wire${net} type veth peer name wire netns ${netns}`);
      ip(
        frr.netns,
        `address add 10.255.${net}.1/24 dev wire${net}`,
        `address add fd00:${net}::1/64 dev wire${net} nodad`,
        `link set wire${net} up`,
      );
      ip(netns, `address add 10.255.${net}.2/24 dev wire`, `address add fd00:${net}::2/64 dev wire nodad`, "link set wire up");
      const own = await mkdtemp(join(directory, "peer-"));
      const asn = index === 0 ? OWN_ASN : FABRIC_ASN;
      const neighbor = { address: `10.255.${net}.1`, asn: OWN_ASN, ...(index === 1 && { password: "s3cret" }) };
      others.push(await GobgpPeer.start({ binaries, netns, directory: own, asn, routerId: `10.255.${net}.2`, neighbor }));
    }
  });
  afterAll(async () => {
    await Promise.all(others.map((other) => other.stop()));
    await frr.stop();
    await namespaces.remove();
    await rm(directory, { recursive: true, force: true });
  });

  const announce = async (ads: readonly BgpAd[], services: Readonly<Record<string, readonly string[]>>) => {
    const wanted = config({ pools: POOLS, peers: PEERS, bgpAds: ads });
    const announced = new Map<string, readonly Advertised[]>();
    for (const [key, addresses] of Object.entries(services)) {
      const decision = decideBgp(service(addresses, { key }), node("node-a"), wanted, new PoolIndex(POOLS));
      if ("announce" in decision) announced.set(key, decision.announce);
    }
    const own = { name: "node-a", internalIPv4: "10.255.1.1" };
    expect((await onFrr.speaker.apply({ config: wanted, node: own, services: announced }, signal)).failures).toEqual([]);
  };
  const heard =
    (which: "inside" | "outside", family: "ipv4" | "ipv6" = "ipv4") =>
    async (): Promise<LearnedRoute[]> => {
      const routes = await others[which === "inside" ? 0 : 1]?.routes(family).catch(() => undefined);
      return (routes ?? []).sort((a, b) => (a.prefix < b.prefix ? -1 : 1));
    };
  const fromInside = { nextHop: "10.255.1.1", asPath: [] };
  const fromOutside = { nextHop: "10.255.2.1", asPath: [OWN_ASN] };

  test("an address with its next hop; the local preference stays within the AS", async () => {
    await announce([bgpAd("ad", { localPref: 150 })], { "shop/web": ["198.51.100.1"] });
    await expect.poll(heard("inside"), PATIENT).toEqual([{ prefix: "198.51.100.1/32", ...fromInside, localPref: 150, ...plain }]);
    await expect.poll(heard("outside"), PATIENT).toEqual([{ prefix: "198.51.100.1/32", ...fromOutside, ...plain }]);
  });

  test("communities of every kind, also well-known ones", async () => {
    const communities = ["64512:7", "65535:65281", "large:64512:1:2", "large:4200000001:3:4"];
    await announce([bgpAd("ad", { communities })], { "shop/web": ["198.51.100.1"] });
    const attributes = { communities: ["64512:7", "65535:65281"], largeCommunities: ["64512:1:2", "4200000001:3:4"] };
    await expect.poll(heard("outside"), PATIENT).toEqual([{ prefix: "198.51.100.1/32", ...fromOutside, ...attributes }]);
    await expect.poll(heard("inside"), PATIENT).toEqual([{ prefix: "198.51.100.1/32", ...fromInside, localPref: 100, ...attributes }]);
  });

  test("only prefixes for its peer, with the union of communities of several advertisements", async () => {
    const ads = [
      bgpAd("all", { communities: ["64512:1"] }),
      bgpAd("narrow", { communities: ["64512:2"], peers: new Set(["outside"]) }),
      bgpAd("wide", { aggregationLength: 24, peers: new Set(["inside"]), localPref: 300 }),
    ];
    await announce(ads, { "shop/web": ["198.51.100.1"], "shop/api": ["198.51.100.2"] });
    await expect.poll(heard("outside"), PATIENT).toEqual([
      { prefix: "198.51.100.1/32", ...fromOutside, ...plain, communities: ["64512:1", "64512:2"] },
      { prefix: "198.51.100.2/32", ...fromOutside, ...plain, communities: ["64512:1", "64512:2"] },
    ]);
    await expect.poll(heard("inside"), PATIENT).toEqual([
      { prefix: "198.51.100.0/24", ...fromInside, localPref: 300, ...plain },
      { prefix: "198.51.100.1/32", ...fromInside, localPref: 100, ...plain, communities: ["64512:1"] },
      { prefix: "198.51.100.2/32", ...fromInside, localPref: 100, ...plain, communities: ["64512:1"] },
    ]);
  });

  test("both families over one session", async () => {
    await announce([bgpAd("ad", { communities: ["64512:1"] })], { "shop/web": ["198.51.100.1", "2001:db8:100::1"] });
    await expect
      .poll(heard("outside"), PATIENT)
      .toEqual([{ prefix: "198.51.100.1/32", ...fromOutside, ...plain, communities: ["64512:1"] }]);
    const v6 = { prefix: "2001:db8:100::1/128", ...plain, communities: ["64512:1"] };
    await expect.poll(heard("outside", "ipv6"), PATIENT).toEqual([{ ...v6, nextHop: "fd00:2::1", asPath: [OWN_ASN] }]);
    await expect.poll(heard("inside", "ipv6"), PATIENT).toEqual([{ ...v6, nextHop: "fd00:1::1", asPath: [], localPref: 100 }]);
  });

  test("the withdrawal of a deleted Service", async () => {
    await announce([bgpAd("ad")], {});
    await expect.poll(heard("outside"), PATIENT).toEqual([]);
    await expect.poll(heard("inside"), PATIENT).toEqual([]);
    await expect.poll(heard("inside", "ipv6"), PATIENT).toEqual([]);
  });
});

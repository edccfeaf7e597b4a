import { Address } from "../../src/ip/address.ts";
import { decideBgp } from "../../src/loadbalancer/announcement/bgp-decision.ts";
import type { Advertised } from "../../src/loadbalancer/announcement/decision.ts";
import { PoolIndex } from "../../src/loadbalancer/config/pool-index.ts";
import { bgpAd, config, node, peer, pool, service } from "../../src/loadbalancer/testing/announcement-fixtures.ts";

const POOLS = [pool("pool", ["10.64.0.0/10"])];
const INDEX = new PoolIndex(POOLS);

export const COMMUNITY = "64512:1";

/** Two top-of-rack routers, and an advertisement with a community. */
export const CONFIG = config({
  pools: POOLS,
  peers: [peer("tor-1", { address: "192.0.2.1" }), peer("tor-2", { address: "192.0.2.2" })],
  bgpAds: [bgpAd("ad", { communities: [COMMUNITY] })],
});

export const NODE = { name: "node-a", internalIPv4: "192.0.2.10" };

export function addressOf(number: number): string {
  return new Address(4, 0x0a400000n + BigInt(number)).toString();
}

export function keyOf(number: number): string {
  return `shop/web-${number}`;
}

export function advertisedOf(number: number): readonly Advertised[] {
  const decision = decideBgp(service([addressOf(number)], { key: keyOf(number) }), node("node-a"), CONFIG, INDEX);
  return "announce" in decision ? decision.announce : [];
}

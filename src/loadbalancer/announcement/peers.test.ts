import { expect, test } from "vitest";
import { parsePrefix } from "../../ip/prefix.ts";
import type { Advertised } from "./decision.ts";
import { peersOf } from "./peers.ts";
import { config, peer } from "../testing/announcement-fixtures.ts";

const PEERS = config({
  peers: [
    peer("v6", { address: "fd00::2" }),
    peer("v4", { address: "10.255.0.2" }),
    peer("both", { address: "10.255.0.3", families: ["IPv4", "IPv6"] }),
  ],
}).peers;

function advertised(prefix: string, advertisement: string, ...peers: string[]): Advertised {
  return { prefix: parsePrefix(prefix), advertisement, created: 0, communities: [], ...(peers.length > 0 && { peers: new Set(peers) }) };
}

test("an address is announced to the peers with its address family", () => {
  expect(peersOf([advertised("10.0.0.1/32", "a"), advertised("fd00:1::1/128", "a")], PEERS)).toEqual({
    IPv4: ["both", "v4"],
    IPv6: ["both", "v6"],
    all: ["both", "v4", "v6"],
    advertisements: ["a"],
  });
});

test("an advertisement that names peers reaches only these, and an unknown name reaches none", () => {
  expect(peersOf([advertised("10.0.0.1/32", "named", "v4", "unknown"), advertised("10.0.0.1/32", "lost", "unknown")], PEERS)).toEqual({
    IPv4: ["v4"],
    IPv6: [],
    all: ["v4"],
    advertisements: ["named"],
  });
});

test("an advertisement whose peers have another address family contributes nothing", () => {
  expect(peersOf([advertised("fd00:1::1/128", "a", "v4")], PEERS)).toEqual({ IPv4: [], IPv6: [], all: [], advertisements: [] });
});

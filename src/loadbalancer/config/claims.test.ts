import { expect, test } from "vitest";
import { claimText } from "../../resilience/claim.ts";
import { type ClaimingObject, claimsOf } from "./claims.ts";
import { community, peer, pool } from "../testing/config-fixtures.ts";

const texts = (claimant: ClaimingObject) => claimsOf(claimant).map(({ key, range }) => claimText(key, range));

test.each<[ClaimingObject, string[]]>([
  [
    { kind: "IPAddressPool", object: pool("p", ["192.0.2.0/24", "10.0.0.1-10.0.0.9", "2001:db8::/64"]) },
    ["range/192.0.2.0-192.0.2.255", "range/10.0.0.1-10.0.0.9", "range/2001:db8::-2001:db8::ffff:ffff:ffff:ffff"],
  ],
  [{ kind: "IPAddressPool", object: pool("p", ["192.0.2.0/24", "nonsense"]) }, []],
  [{ kind: "BGPPeer", object: peer("p") }, ["neighbor/192.0.2.1", "asn/default/64512", "router-id/none"]],
  [
    { kind: "BGPPeer", object: peer("p", { interface: "eth0", vrf: "red", routerID: "10.0.0.1" }) },
    ["neighbor/eth0-red", "asn/red/64512", "router-id/10.0.0.1"],
  ],
  [{ kind: "BGPPeer", object: peer("p", { peerAddress: "x", vrf: "a\nb", routerID: "y" }) }, []],
  [{ kind: "BGPPeer", object: peer("p", { vrf: "a\nb" }) }, ["router-id/none"]],
  [{ kind: "Community", object: community("c", { a: "1:1", b: "nonsense" }) }, ["alias/a", "alias/b"]],
])("%j asks for %j", (claimant, expected) => {
  expect(texts(claimant)).toEqual(expected);
});

test("no claim is longer than a record takes, and none has a line break", () => {
  const [long = "", odd = ""] = texts({ kind: "Community", object: community("c", { ["x".repeat(253)]: "1:1", "a\nb": "1:1" }) });
  expect(long).toMatch(/^alias\/[0-9a-f]{64}$/);
  expect(odd).toMatch(/^alias\/[0-9a-f]{64}$/);
});

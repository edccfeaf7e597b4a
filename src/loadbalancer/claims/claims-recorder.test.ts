import { expect, test } from "vitest";
import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { config } from "../testing/announcement-fixtures.ts";
import { type ClaimingObject, released, claimsOf } from "./claims-recorder.ts";
import type { Loaded } from "../config/load.ts";
import { claimText } from "../../resilience/claim.ts";
import { community, peer, pool } from "../testing/config-fixtures.ts";

type State = "Applied" | "Failed" | "KeptPrevious";
const claimant = {
  kind: "IPAddressPool",
  object: { metadata: { name: "main", generation: 2 }, spec: { addresses: [] } },
} as unknown as ClaimingObject;
const here = (state: State, generation = 2): Loaded => ({
  config: config(),
  failures: [],
  warnings: [],
  unread: [],
  resources: [{ kind: "IPAddressPool", name: "main", generation, state }],
  lastGood: new Map(),
});
const there = (state: State, observedGeneration: number): ConfigurationState => ({
  metadata: { name: "speaker-n1" },
  status: { resources: [{ kind: "IPAddressPool", name: "main", observedGeneration, state }] },
});
const silent: ConfigurationState = { metadata: { name: "speaker-n2" } };

test.each<[boolean, string, Loaded, ConfigurationState[]]>([
  [true, "when every node has applied its current spec", here("Applied"), [there("Applied", 2), silent]],
  [true, "when no node ever applied it", here("Applied"), [there("Failed", 1)]],
  [false, "while a node keeps its previous version", here("Applied"), [there("Applied", 2), there("KeptPrevious", 2)]],
  [false, "while a node has not observed the edit", here("Applied"), [there("Applied", 1)]],
  [false, "while another object has what it claims now", here("Failed"), [there("Failed", 2)]],
  [false, "while the result of the edit is unknown", here("Applied", 1), []],
])("an earlier claim is released: %s %s", (expected, _when, loaded, states) => {
  expect(released(loaded, states)(claimant)).toBe(expected);
});

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
])("%j claims %j", (claimant, expected) => {
  expect(texts(claimant)).toEqual(expected);
});

test("no claim exceeds the length of the status field or contains a line break", () => {
  const [long = "", odd = ""] = texts({ kind: "Community", object: community("c", { ["x".repeat(253)]: "1:1", "a\nb": "1:1" }) });
  expect(long).toMatch(/^alias\/[0-9a-f]{64}$/);
  expect(odd).toMatch(/^alias\/[0-9a-f]{64}$/);
});

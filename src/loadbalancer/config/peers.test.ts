import { describe, expect, test } from "vitest";
import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import type { RuleId } from "./rules.ts";
import { load, node, onRack, type ConfigParts, peer, profile, failureTexts, secret } from "../testing/config-fixtures.ts";

const failuresOf = (parts: ConfigParts) => failureTexts(load(parts));
const selector = (key: string, operator: string, ...values: string[]) => ({ matchExpressions: [{ key, operator, values }] });
const rack = { matchLabels: { rack: "a" } };
const TWICE = [rack, { matchLabels: { rack: "a" } }];
const ofPeer = (spec: Partial<BGPPeer["spec"]>) =>
  failuresOf({ peers: [peer("p", spec)], bfdProfiles: [profile("fast")], secrets: [secret("s")] });

describe("a peer", () => {
  test.each<[RuleId, string, string, Partial<BGPPeer["spec"]>]>([
    ["P1", "spec.myASN", "missing local ASN", { myASN: 0 }],
    ["P2", "spec.peerASN", "missing peer ASN and dynamicASN", { peerASN: 0 }],
    ["P2", "spec.dynamicASN", "both peer ASN and dynamicASN specified", { dynamicASN: "internal" }],
    ["P2", "spec.dynamicASN", "invalid dynamicASN sideways", { peerASN: 0, dynamicASN: "sideways" as "internal" }],
    ["P3", "spec.ebgpMultiHop", "invalid ebgp-multihop parameter set for an ibgp peer", { ebgpMultiHop: true, peerASN: 64_512 }],
    [
      "P3",
      "spec.ebgpMultiHop",
      "invalid ebgp-multihop parameter set for an ibgp peer",
      { ebgpMultiHop: true, peerASN: 0, dynamicASN: "internal" },
    ],
    ["P4", "spec.peerAddress", "peer has no Address or Interface specified", { peerAddress: "" }],
    ["P4", "spec.interface", "peer has both Address and Interface specified", { peerAddress: "192.0.2.1", interface: "eth0" }],
    ["P5", "spec.holdTime", 'invalid BGPPeer timers: invalid hold time "2.9s": must be 0 or >=3s', { holdTime: "2.9s" }],
    ["P5", "spec.holdTime", 'invalid BGPPeer timers: invalid hold time "-3s": must be 0 or >=3s', { holdTime: "-3s", keepaliveTime: "0s" }],
    ["P5", "spec.holdTime", 'invalid BGPPeer timers: invalid hold time "19h": must be <=65535s', { holdTime: "19h" }],
    ["P5", "spec.keepaliveTime", 'invalid BGPPeer timers: invalid hold time "1.2s": must be 0 or >=3s', { keepaliveTime: "400ms" }],
    [
      "P5",
      "spec.keepaliveTime",
      'invalid BGPPeer timers: invalid keepaliveTime "10s", must be lower than holdTime "9s"',
      { holdTime: "9s", keepaliveTime: "10s" },
    ],
    [
      "P5",
      "spec.keepaliveTime",
      'invalid BGPPeer timers: invalid keepaliveTime "-1s": must be 0s to 65535s',
      { holdTime: "9s", keepaliveTime: "-1s" },
    ],
    ["P5", "spec.holdTime", 'invalid BGPPeer timers: holdTime "soon" is not a duration such as 30s', { holdTime: "soon" }],
    ["P6", "spec.peerAddress", 'invalid BGPPeer address "192.0.2.300"', { peerAddress: "192.0.2.300" }],
    ["P6", "spec.peerAddress", 'invalid BGPPeer address "fe80::1%eth0"', { peerAddress: "fe80::1%eth0" }],
    ["P6", "spec.peerAddress", 'invalid BGPPeer address "0.0.0.0"', { peerAddress: "0.0.0.0" }],
    ["P6", "spec.peerAddress", 'invalid BGPPeer address "224.0.0.5"', { peerAddress: "224.0.0.5" }],
    ["P6", "spec.peerAddress", 'invalid BGPPeer address "ff02::1"', { peerAddress: "ff02::1" }],
    ["P6", "spec.routerID", 'invalid router ID "one"', { routerID: "one" }],
    ["P6", "spec.routerID", 'invalid router ID "0.0.0.0"', { routerID: "0.0.0.0" }],
    ["P6", "spec.sourceAddress", 'invalid source IP "::"', { sourceAddress: "::", peerAddress: "2001:db8::1" }],
    [
      "P6",
      "spec.sourceAddress",
      'invalid source IP "2001:db8::1": the peer has the other address family',
      { sourceAddress: "2001:db8::1" },
    ],
    ["P6", "spec.routerID", 'invalid router ID "2001:db8::1"', { routerID: "2001:db8::1" }],
    ["P6", "spec.sourceAddress", 'invalid source IP "192.0.2.1/32"', { sourceAddress: "192.0.2.1/32" }],
    ["P7", "spec.nodeSelectors[1]", 'duplicate definition of nodeSelectors "rack=a"', { nodeSelectors: TWICE }],
    [
      "P7",
      "spec.nodeSelectors[0].matchExpressions[1]",
      'duplicate definition of match expressions "rack in (a,b)"',
      {
        nodeSelectors: [
          {
            matchExpressions: [
              { key: "rack", operator: "In", values: ["a", "b"] },
              { key: "rack", operator: "In", values: ["b", "a"] },
            ],
          },
        ],
      },
    ],
    [
      "P7",
      "spec.nodeSelectors[0].matchExpressions[0].values[1]",
      'duplicate definition of match expression value in label selector "a"',
      { nodeSelectors: [selector("rack", "In", "a", "a")] },
    ],
    [
      "P8",
      "spec.nodeSelectors[0].matchExpressions[0].operator",
      '"Near" is not an operator; use In, NotIn, Exists or DoesNotExist\nfailed to convert peer p node selector',
      { nodeSelectors: [selector("rack", "Near")] },
    ],
    [
      "P8",
      "spec.nodeSelectors[0].matchExpressions[0].key",
      '"" is not a label key\nfailed to convert peer p node selector',
      { nodeSelectors: [selector("", "Exists")] },
    ],
    [
      "P9",
      "spec.passwordSecret",
      'can not have both password and secret ref set in peer config "metallb-system"/"p"',
      { password: "x", passwordSecret: { name: "s" } },
    ],
    ["P11", "spec.peerPort", "invalid peerPort 70000: must be in 1-65535 range", { peerPort: 70_000 }],
    ["P11", "spec.connectTime", 'invalid connectTime "1.5s": must be in 1s-65535s range', { connectTime: "1.5s" }],
    ["P11", "spec.localASN", "invalid localASN 4294967296: must be in 1-4294967295 range", { localASN: 4_294_967_296 }],
    [
      "P12",
      "spec.interface",
      'invalid interface "eth0\\nexit": it must start with a letter and have only letters, digits, ".", "_" and "-" in it',
      { interface: "eth0\nexit" },
    ],
    ["P12", "spec.vrf", 'invalid vrf "a-vrf-with-a-name": it has more than 15 characters', { vrf: "a-vrf-with-a-name" }],
    ["P12", "spec.vrf", 'invalid vrf "all": it is reserved by FRR', { vrf: "all" }],
    ["P13", "spec.password", "password has a character other than printable ASCII without spaces", { password: "two\nlines" }],
    ["P13", "spec.password", "password has more than 80 characters", { password: "x".repeat(81) }],
  ])("is refused by %s at %s: %s", (rule, field, problem, spec) => {
    expect(ofPeer(spec)).toEqual([`${rule} BGPPeer/p ${field}: parsing peer p ${problem}`]);
  });

  test.each<Partial<BGPPeer["spec"]>>([
    { myASN: 4_294_967_295 },
    { peerASN: 0, dynamicASN: "internal" },
    { ebgpMultiHop: true },
    { ebgpMultiHop: true, peerASN: 0, dynamicASN: "external" },
    { interface: "eth0.100" },
    { peerAddress: "2001:db8::1", sourceAddress: "2001:db8::2", routerID: "10.0.0.1" },
    { holdTime: "0s" },
    { holdTime: "3s", keepaliveTime: "3s" },
    { keepaliveTime: "1s" },
    { connectTime: "65535s", peerPort: 16_384 },
    { nodeSelectors: [selector("rack", "In", "a", "b"), selector("rack", "Exists")] },
    { password: "geheim" },
    { passwordSecret: { name: "s" } },
    { bfdProfile: "fast", vrf: "red", enableGracefulRestart: true, dualStackAddressFamily: true, localASN: 1, disableMP: true },
  ])("is fine with %j", (spec) => {
    expect(ofPeer(spec)).toEqual([]);
  });

  test.each<[RuleId, string, ConfigParts["secrets"]]>([
    ["T1", 'secret ref not found for peer config "metallb-system"/"p"', []],
    ["V1", 'secret type mismatch on "metallb-system"/"s", type "kubernetes.io/basic-auth" is expected ', [secret("s", { type: "Opaque" })]],
    ["V2", 'password not specified in the secret "metallb-system"/"s"', [secret("s", { data: {} })]],
    [
      "V4",
      'password in the secret "metallb-system"/"s" has a character other than printable ASCII without spaces',
      [secret("s", { data: { password: Buffer.from("geheim\n").toString("base64") } })],
    ],
  ])("is refused by %s: %s", (rule, problem, secrets) => {
    expect(failuresOf({ peers: [peer("p", { passwordSecret: { name: "s" } })], secrets: secrets ?? [] })).toEqual([
      `${rule} BGPPeer/p spec.passwordSecret.name: parsing peer p ${problem}\nfailed to parse peer p password secret`,
    ]);
  });

  test("with an empty password in its Secret has no password", () => {
    const { config } = load({ peers: [peer("p", { passwordSecret: { name: "s" } })], secrets: [secret("s", { data: { password: "" } })] });
    expect(config.peers.get("p")).not.toHaveProperty("password");
  });

  test("requires that its BFD profile exists and is valid", () => {
    const peers = [peer("p", { bfdProfile: "fast" })];
    expect(failuresOf({ peers })).toEqual(["T2 BGPPeer/p spec.bfdProfile: peer p referencing non existing bfd profile fast"]);
    expect(failuresOf({ peers, bfdProfiles: [profile("fast", { detectMultiplier: 1 })] })).toEqual([
      "B1 BFDProfile/fast spec.detectMultiplier: parsing bfd profile fast: invalid value 1, must be in 2-255 range\ninvalid detect multiplier value",
      "T2 BGPPeer/p spec.bfdProfile: peer p referencing bfd profile fast, which is not valid",
    ]);
  });
});

describe("two peers", () => {
  const younger = { hour: 1 };
  const two = (spec: Partial<BGPPeer["spec"]>, older: Partial<BGPPeer["spec"]> = {}): ConfigParts => ({
    peers: [peer("young", spec, younger), peer("old", { peerAddress: "192.0.2.9", ...older })],
  });

  test.each<[RuleId, string, string, ConfigParts]>([
    [
      "F1",
      "spec.routerID",
      "peer 192.0.2.1 has RouterID different from 192.0.2.9, in FRR mode all RouterID must be equal",
      two({ routerID: "10.0.0.1" }, { routerID: "10.0.0.2" }),
    ],
    [
      "F1",
      "spec.routerID",
      "peer 192.0.2.1 has RouterID different from 192.0.2.9, in FRR mode all RouterID must be equal",
      two({}, { routerID: "10.0.0.2" }),
    ],
    [
      "F2",
      "spec.peerAddress",
      "peer 192.0.2.9 already exists, FRR mode doesn't support duplicate BGPPeers selecting the same node",
      two({ peerAddress: "192.0.2.9" }),
    ],
    [
      "F2",
      "spec.peerAddress",
      "peer 2001:db8::1 already exists, FRR mode doesn't support duplicate BGPPeers selecting the same node",
      two({ peerAddress: "2001:0db8::0001" }, { peerAddress: "2001:db8::1" }),
    ],
    [
      "F2",
      "spec.interface",
      "peer eth0-red already exists, FRR mode doesn't support duplicate BGPPeers selecting the same node",
      { peers: [peer("young", { interface: "eth0", vrf: "red" }, younger), peer("old", { interface: "eth0", vrf: "red" })] },
    ],
    [
      "F3",
      "spec.myASN",
      "peer 192.0.2.1-red has myAsn different from 192.0.2.9-red, in FRR mode all myAsn must be equal",
      two({ vrf: "red", myASN: 1 }, { vrf: "red" }),
    ],
  ])("on one node: %s at %s, the younger claim loses: %s", (rule, field, message, parts) => {
    const expected = [`${rule} BGPPeer/young ${field}: ${message}`];
    expect(failuresOf(parts)).toEqual(expected);
    expect(failuresOf({ ...parts, nodes: [] })).toEqual(expected);
  });

  test("in different VRFs may have the same address and different AS numbers", () => {
    expect(failuresOf(two({ peerAddress: "192.0.2.9", vrf: "red", myASN: 1 }))).toEqual([]);
  });

  test("on different nodes do not conflict", () => {
    const nodes = [node("n1", { rack: "a" }), node("n2", { rack: "b" })];
    const parts = two({ peerAddress: "192.0.2.9", myASN: 1, routerID: "1.1.1.1", ...onRack("a") }, onRack("b"));
    expect(failuresOf({ ...parts, nodes })).toEqual([]);
    const both = [...nodes, node("n3", { rack: "a" })];
    expect(failuresOf({ ...parts, nodes: both })).toEqual([]);
    const everywhere = two({ peerAddress: "192.0.2.9", myASN: 1, routerID: "1.1.1.1", ...onRack("a") });
    expect(failuresOf({ ...everywhere, nodes })).toHaveLength(3);
  });

  test("of one name conflict", () => {
    expect(failuresOf({ peers: [peer("p"), peer("p", {}, younger)] })).toEqual(["P10 BGPPeer/p metadata.name: peer p already exists"]);
  });
});

import { describe, expect, test } from "vitest";
import type { Loaded } from "./load.ts";
import { bgpAd, community, l2Ad, load, peer, pool, profile, failureTexts, secret } from "../testing/config-fixtures.ts";

/** As a ConfigurationState puts it together. */
const lastError = ({ failures }: Loaded) => failures.map(({ message }) => message).join("\n");

describe("the documented message", () => {
  test("about overlapping pools", () => {
    const pools = [pool("client1-pool", ["192.168.10.0/24"]), pool("client2-pool", ["192.168.10.100/32"], {}, { hour: 1 })];
    const loaded = load({ pools }, { of: "controller" });
    expect(lastError(loaded)).toBe('CIDR "192.168.10.100/32" in pool "client2-pool" overlaps with already defined CIDR "192.168.10.0/24"');
    expect(loaded.failures).toMatchObject([
      { kind: "IPAddressPool", name: "client2-pool", field: "spec.addresses[0]", class: "Permanent" },
    ]);
  });

  test("about a missing BFD profile", () => {
    const peers = [peer("peer1", { peerAddress: "192.168.1.1", bfdProfile: "my-bfd-profile" })];
    const loaded = load({ peers });
    expect(lastError(loaded)).toBe("peer peer1 referencing non existing bfd profile my-bfd-profile");
    expect(loaded.failures).toMatchObject([{ class: "Transient", reason: "DependencyFailed", field: "spec.bfdProfile" }]);
    expect(lastError(load({ peers, bfdProfiles: [profile("my-bfd-profile")] }))).toBe("");
  });

  test("about a missing Secret", () => {
    const peers = [peer("peer1", { passwordSecret: { name: "bgp-password" } })];
    const loaded = load({ peers });
    expect(lastError(loaded)).toBe(
      'parsing peer peer1 secret ref not found for peer config "metallb-system"/"peer1"\nfailed to parse peer peer1 password secret',
    );
    expect(loaded.failures).toMatchObject([{ class: "Transient", reason: "DependencyFailed", field: "spec.passwordSecret.name" }]);
    expect(lastError(load({ peers, secrets: [secret("bgp-password")] }))).toBe("");
  });

  test("about a Secret of another type, with a space at the end of the first line", () => {
    const peers = [peer("peer-with-secret", { peerAddress: "192.168.1.2", passwordSecret: { name: "bgp-password" } })];
    const loaded = load({ peers, secrets: [secret("bgp-password", { type: "Opaque" })] });
    expect(lastError(loaded)).toBe(
      'parsing peer peer-with-secret secret type mismatch on "metallb-system"/"bgp-password", type "kubernetes.io/basic-auth" is expected \nfailed to parse peer peer-with-secret password secret',
    );
    expect(loaded.failures).toMatchObject([{ class: "Permanent", reason: "ValidationFailed" }]);
  });

  test("about a Secret without a password", () => {
    const peers = [peer("p", { passwordSecret: { name: "bgp-password" } })];
    expect(lastError(load({ peers, secrets: [secret("bgp-password", { data: { user: "" } })] }))).toBe(
      'parsing peer p password not specified in the secret "metallb-system"/"bgp-password"\nfailed to parse peer p password secret',
    );
  });

  test("about two own AS numbers", () => {
    const peers = [peer("a", { peerAddress: "1.2.3.5" }), peer("b", { peerAddress: "1.2.3.4", myASN: 64_600 }, { hour: 1 })];
    const loaded = load({ peers });
    expect(lastError(loaded)).toBe("peer 1.2.3.4 has myAsn different from 1.2.3.5, in FRR mode all myAsn must be equal");
    expect(loaded.failures).toMatchObject([{ name: "b", field: "spec.myASN" }]);
    expect([...loaded.config.peers.keys()]).toEqual(["a"]);
  });

  test("about an undefined community alias", () => {
    const bgpAdvertisements = [bgpAd("ad", { communities: ["no-advertise"] })];
    const loaded = load({ bgpAdvertisements });
    expect(lastError(loaded)).toBe('invalid community format: no-advertise\ninvalid community "no-advertise" in BGP advertisement');
    expect(loaded.failures).toMatchObject([{ class: "Transient", reason: "DependencyFailed", field: "spec.communities[0]" }]);
    const healed = load({ bgpAdvertisements, communities: [community("names", { "no-advertise": "65535:65282" })] });
    expect(lastError(healed)).toBe("");
    expect(healed.config.bgpAds.get("ad")?.communities).toEqual(["65535:65282"]);
  });

  test("about IPv6 over a session with BFD echo", () => {
    const parts = {
      pools: [pool("six", ["2001:db8::/120"])],
      peers: [peer("p", { bfdProfile: "fast" })],
      bfdProfiles: [profile("fast", { echoMode: true })],
      bgpAdvertisements: [bgpAd("ad")],
    };
    expect(lastError(load(parts))).toBe(
      "pool six has bgpadvertisement ad which references peer p which has bfd echo enabled, which is not possible",
    );
    expect(lastError(load({ ...parts, pools: [pool("four", ["192.0.2.0/24"])] }))).toBe("");
    expect(lastError(load({ ...parts, bfdProfiles: [profile("fast")] }))).toBe("");
  });
});

test("all problems are reported at once, sorted, each with its owner and field", () => {
  const loaded = load({
    pools: [pool("b", ["10.0.0.0/33", "10.0.1.0/24"]), pool("a", [])],
    peers: [peer("p", { myASN: 0, peerAddress: "nowhere", holdTime: "1s", bfdProfile: "none" })],
    bgpAdvertisements: [bgpAd("ad", { communities: ["1:70000"] })],
    l2Advertisements: [l2Ad("l2", { interfaces: ["eth 0"] })],
  });
  expect(failureTexts(loaded)).toEqual([
    'G5 BGPAdvertisement/ad spec.communities[0]: invalid community value: "70000" in "1:70000" is not a number from 0 to 65535\ninvalid community "1:70000" in BGP advertisement',
    "T2 BGPPeer/p spec.bfdProfile: peer p referencing non existing bfd profile none",
    'P5 BGPPeer/p spec.holdTime: parsing peer p invalid BGPPeer timers: invalid hold time "1s": must be 0 or >=3s',
    "P1 BGPPeer/p spec.myASN: parsing peer p missing local ASN",
    'P6 BGPPeer/p spec.peerAddress: parsing peer p invalid BGPPeer address "nowhere"',
    "A1 IPAddressPool/a spec.addresses: parsing address pool a: pool has no prefixes defined",
    'A2 IPAddressPool/b spec.addresses[0]: parsing address pool b: invalid CIDR "10.0.0.0/33" in pool "b": the prefix length is more than 32',
    'L1 L2Advertisement/l2 spec.interfaces[0]: invalid interface "eth 0" in l2: it must start with a letter and have only letters, digits, ".", "_" and "-" in it',
  ]);
});

test("names and raw lines with control characters are not sent to FRR", () => {
  expect(failureTexts(load({ peers: [peer("p\nexit")], extras: "router bgp 1\n! \u0007\n" }))).toEqual([
    'N1 BGPPeer/p\nexit metadata.name: "p\\nexit" is not a valid object name',
    "E1 ConfigMap/bgpextras data.extras: extras has a control character in line 2",
  ]);
  expect(load({ extras: "router bgp 1\n\tno shutdown\r\n" }).config.extras).toBe("router bgp 1\n\tno shutdown\r\n");
});

const rangesOf = ({ config }: ReturnType<typeof load>, name: string) => config.pools.get(name)?.ranges;

test("an unchanged pool object is not parsed again", () => {
  const pools = [pool("same", ["10.0.0.0/24"]), pool("other", ["10.0.1.0/24"])];
  const before = load({ pools });
  const after = load({ pools: [pools[0] as (typeof pools)[0], pool("other", ["10.0.2.0/24"])] });
  expect(rangesOf(after, "same")).toBe(rangesOf(before, "same"));
  expect(rangesOf(after, "other")?.map(String)).toEqual(["10.0.2.0/24"]);
});

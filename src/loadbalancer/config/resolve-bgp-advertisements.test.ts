import { describe, expect, test } from "vitest";
import type { Loaded, ConfigScope } from "./load.ts";
import { bgpAd, loadSequence, load, type ConfigParts, peer, pool, profile, states } from "../testing/config-fixtures.ts";

const edited = { generation: 2 };
const N1: ConfigScope = { of: "node", node: "n1" };
const pools = [pool("wide", ["10.0.0.0/24"])];
const narrow = pool("narrow", ["10.0.1.0/26"]);
const ad = bgpAd("ad", { aggregationLength: 24 });
const covered = ({ config }: Loaded) => [...(config.bgpAds.get("ad")?.pools ?? [])];
const both = (spec: object, born: object) => ({ pools: [...pools, narrow], bgpAdvertisements: [bgpAd("ad", spec, born)] });
const echoing = (echoMode: boolean, more: object = {}): ConfigParts => ({
  pools: [pool("six", ["2001:db8::/64"])],
  peers: [peer("p", { bfdProfile: "b" })],
  bfdProfiles: [profile("b", { echoMode })],
  bgpAdvertisements: [bgpAd("ad")],
  ...more,
});

describe("an advertisement that does not fit a pool", () => {
  test("keeps the other pools when the pool is new, also on a new node", () => {
    const after = { pools: [...pools, narrow], bgpAdvertisements: [ad] };
    const loaded = loadSequence(N1, { pools, bgpAdvertisements: [ad] }, after, after, after);
    expect(loaded.failures).toMatchObject([{ kind: "BGPAdvertisement", name: "ad", rule: "G6" }]);
    expect(covered(loaded)).toEqual(["wide"]);
    expect(states(loaded)).toMatchObject({ "BGPAdvertisement/ad": "KeptPrevious", "IPAddressPool/narrow": "Applied" });
    const fresh = load(after);
    expect([covered(fresh), states(fresh)["BGPAdvertisement/ad"]]).toEqual([["wide"], "AppliedInPart"]);
    // Applied in part does not count as a good version.
    expect(states(loadSequence(N1, after, after))).toMatchObject({ "BGPAdvertisement/ad": "AppliedInPart" });
  });

  test("keeps its previous version when the edit caused it", () => {
    const bad = both({ aggregationLength: 24 }, edited);
    const loaded = loadSequence(N1, both({}, {}), bad, bad);
    expect(covered(loaded)).toEqual(["narrow", "wide"]);
    expect(loaded.config.bgpAds.get("ad")?.aggregationLength).toBe(32);
  });

  test("keeps a pool that has become too narrow for it", () => {
    const shrunk = { pools: [pool("wide", ["10.0.0.0/26"], {}, edited)], bgpAdvertisements: [ad] };
    const loaded = loadSequence(N1, { pools, bgpAdvertisements: [ad] }, shrunk, shrunk);
    expect(loaded.failures).toMatchObject([{ rule: "G6" }]);
    expect(covered(loaded)).toEqual(["wide"]);
    expect(covered(load(shrunk))).toEqual([]);
  });

  test("is left out if it fits no pool", () => {
    const loaded = load({ pools: [narrow], bgpAdvertisements: [ad] });
    expect(states(loaded)).toMatchObject({ "BGPAdvertisement/ad": "Failed" });
    expect(loaded.config.bgpAds.size).toBe(0);
  });

  test("keeps what it announced when a BFD profile turns echo mode on", () => {
    const loaded = loadSequence(N1, echoing(false), echoing(true));
    expect(loaded.failures.map(({ rule }) => rule)).toEqual(["V3"]);
    expect(covered(loaded)).toEqual(["six"]);
    const more = echoing(true, { pools: [pool("six", ["2001:db8::/64"]), pool("new", ["2001:db8:1::/64"])] });
    expect(covered(loadSequence(N1, echoing(false), more, more))).toEqual(["six"]);
    // Once it fits, everything is announced and stays announced.
    const calm = { ...more, bfdProfiles: [profile("b")] };
    expect(covered(loadSequence(N1, echoing(false), more, calm, more))).toEqual(["new", "six"]);
    expect(covered(load(echoing(true)))).toEqual([]);
  });
});

test("of two conflicting local preferences the announced one stays, although the other object is older", () => {
  const young = bgpAd("young", { localPref: 200 }, { hour: 1 });
  const loaded = loadSequence(
    N1,
    { pools, bgpAdvertisements: [bgpAd("old", { localPref: 200 }), young] },
    { pools, bgpAdvertisements: [bgpAd("old", { localPref: 100 }, edited), young] },
  );
  expect(loaded.failures).toMatchObject([{ name: "old", rule: "G7", generation: 2 }]);
  expect([...loaded.config.bgpAds.values()].map(({ name, localPref }) => `${name} ${localPref}`)).toEqual(["old 200", "young 200"]);
  const fresh = load({ pools, bgpAdvertisements: [bgpAd("old", { localPref: 100 }), young] });
  expect([...fresh.config.bgpAds.keys()]).toEqual(["old"]);
  expect(states(fresh)).toMatchObject({ "BGPAdvertisement/old": "Applied", "BGPAdvertisement/young": "Failed" });
});

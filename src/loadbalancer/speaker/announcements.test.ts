import { describe, expect, test } from "vitest";
import { bgpAd, config, l2Ad, node, peer, pool, profile, service } from "../testing/announcement-fixtures.ts";
import { Announcements, type AffectedServices } from "./announcements.ts";

const everyone: ReadonlySet<string> = new Set(["a", "b", "b-a"]);
const plain = { pools: [pool("pool", ["10.0.0.0/24"])], bgpAds: [bgpAd("ad")], l2Ads: [l2Ad("l2")] };
const nodes = (...names: string[]) => new Map(names.map((name) => [name, node(name)]));

function announcing(...names: string[]): Announcements {
  const announcements = new Announcements("a");
  announcements.configure(config(plain));
  announcements.setNodes(nodes("a", "b"));
  announcements.members(everyone);
  for (const name of names) {
    announcements.put(`shop/${name}`, service(["10.0.0.1"], { key: `shop/${name}` }));
    announcements.decide(`shop/${name}`);
  }
  return announcements;
}

test("an equal decision keeps the same object and is no change", () => {
  const announcements = announcing("web");
  const before = announcements.bgp.get("shop/web");
  expect(before).toHaveLength(1);
  expect(announcements.decide("shop/web")).toEqual({ bgp: false, l2: false });
  expect(announcements.bgp.get("shop/web")).toBe(before);
});

test("an equal configuration is no change, and another one is", () => {
  const announcements = announcing("web");
  expect(announcements.configure(config(plain))).toBeUndefined();
  expect(announcements.configure(config({ ...plain, bgpAds: [] }))).toBeDefined();
  expect(announcements.decide("shop/web")).toEqual({ bgp: true, l2: false });
  expect(announcements.bgp.size).toBe(0);
});

test("only the announcements of a deleted Service are withdrawn", () => {
  const announcements = announcing("web", "api");
  announcements.put("shop/web", undefined);
  expect(announcements.decide("shop/web")).toEqual({ bgp: true, l2: true });
  expect([...announcements.bgp.keys()]).toEqual(["shop/api"]);
});

test("nothing is withdrawn while the own Node is unknown", () => {
  const announcements = announcing("web");
  announcements.setNodes(nodes("b"));
  expect(announcements.decide("shop/web")).toEqual({ bgp: false, l2: false });
  expect(announcements.bgp.has("shop/web")).toBe(true);
});

test("a Service that is deleted while the own Node is unknown is withdrawn", () => {
  const announcements = announcing("web", "api");
  announcements.setNodes(nodes("b"));
  announcements.put("shop/web", undefined);
  expect(announcements.decide("shop/web")).toEqual({ bgp: true, l2: true });
  announcements.setNodes(nodes("a", "b"));
  expect([...announcements.bgp.keys()]).toEqual(["shop/api"]);
  expect([...announcements.l2.keys()]).toEqual(["shop/api"]);
});

test("layer 2 decides nothing until the live members are known", () => {
  const announcements = new Announcements("a");
  announcements.configure(config(plain));
  announcements.setNodes(nodes("a", "b"));
  announcements.put("shop/web", service(["10.0.0.1"], { key: "shop/web" }));
  expect(announcements.decide("shop/web")).toEqual({ bgp: true, l2: false });
  announcements.members(everyone);
  expect(announcements.decide("shop/web")).toEqual({ bgp: false, l2: true });
});

test("a node that is not elected is a candidate with its own interfaces", () => {
  const announcements = announcing();
  const ads = [
    l2Ad("for-a", { nodeSelectors: [{ matchLabels: { name: "a" } }], interfaces: ["eth1"] }),
    l2Ad("for-b", {
      nodeSelectors: [{ matchLabels: { name: "b" } }],
      interfaces: ["eth2"],
      preferences: [{ weight: 10, selector: { matchLabels: { name: "b" } } }],
    }),
  ];
  announcements.configure(config({ ...plain, l2Ads: ads }));
  announcements.setNodes(new Map(["a", "b"].map((name) => [name, node(name, { labels: { name } })])));
  announcements.put("shop/web", service(["10.0.0.1"]));
  announcements.decide("shop/web");
  expect(announcements.l2.get("shop/web")).toMatchObject({ candidates: ["b", "a"], interfaces: ["eth1"] });
  announcements.members(new Set(["b"]));
  announcements.decide("shop/web");
  expect(announcements.l2.size).toBe(0);
});

test("a shared address is wanted once, on the interfaces of all its Services", () => {
  const announcements = announcing();
  const ads = [
    l2Ad("one", { serviceSelectors: [{ matchLabels: { app: "web" } }], interfaces: ["eth1"] }),
    l2Ad("two", { serviceSelectors: [{ matchLabels: { app: "api" } }], interfaces: ["eth0"] }),
  ];
  announcements.configure(config({ ...plain, l2Ads: ads }));
  for (const app of ["web", "api"]) {
    announcements.put(`shop/${app}`, service(["10.0.0.1"], { key: `shop/${app}`, labels: { app } }));
    announcements.decide(`shop/${app}`);
  }
  expect([...announcements.addresses()].map(({ address, interfaces }) => [String(address), interfaces])).toEqual([
    ["10.0.0.1", ["eth0", "eth1"]],
  ]);
});

const concerned = (of: AffectedServices | undefined) => of && { ...of, services: [...of.services] };

describe("the Services that a change affects", () => {
  const ofShop = [{ matchLabels: { app: "shop" } }];
  const shop = { ...plain, pools: [...plain.pools, pool("other", ["10.0.1.0/24"])] };

  function decided(): Announcements {
    const announcements = announcing();
    announcements.configure(config(shop));
    const services = { web: ["10.0.0.1"], shop: ["10.0.0.2"], other: ["10.0.1.1"] };
    for (const [app, addresses] of Object.entries(services)) {
      announcements.put(app, service(addresses, { key: app, labels: { app } }));
      announcements.decide(app);
    }
    return announcements;
  }

  test.each([
    ["an edited advertisement affects the Services of its pool", { bgpAds: [bgpAd("ad", { localPref: 1 })] }, ["web", "shop"]],
    [
      "a new advertisement affects the Services of its pool",
      { bgpAds: [bgpAd("ad"), bgpAd("new", { pools: new Set(["other"]) })] },
      ["other"],
    ],
    [
      "an advertisement with serviceSelectors affects the selected Services",
      { l2Ads: [l2Ad("l2"), l2Ad("new", { serviceSelectors: ofShop })] },
      ["shop"],
    ],
    ["a deleted advertisement affects its Services", { l2Ads: [] }, ["web", "shop"]],
    ["a deleted pool affects its Services", { pools: plain.pools }, ["other"]],
    ["a pool that grows affects no Service", { pools: [...plain.pools, pool("other", ["10.0.1.0/24", "10.0.2.0/24"])] }, []],
    ["a BFD profile affects no Service", { bfdProfiles: [profile("fast")] }, []],
  ])("%s", (_, parts, services) => {
    expect(concerned(decided().configure(config({ ...shop, ...parts })))).toEqual({ services, what: "all", tell: "changed" });
  });

  test("a peer affects all Services, and all are reported", () => {
    const services = ["web", "shop", "other"];
    expect(concerned(decided().configure(config({ ...shop, peers: [peer("tor")] })))).toEqual({ services, what: "all", tell: "all" });
  });

  test("other nodes and live members affect layer 2 only", () => {
    const services = ["web", "shop", "other"];
    const announcements = decided();
    expect(concerned(announcements.setNodes(nodes("a", "c")))).toEqual({ services, what: "l2", tell: "changed" });
    expect(concerned(announcements.members(new Set(["a", "c"])))).toEqual({ services, what: "l2", tell: "changed" });
    expect(announcements.members(new Set(["a", "c"]))).toBeUndefined();
  });

  test("the own node, or one that makes status names ambiguous, affects all Services", () => {
    const services = ["web", "shop", "other"];
    const all = { services, what: "all", tell: "all" };
    expect(concerned(decided().setNodes(nodes("b")))).toEqual(all);
    expect(concerned(decided().setNodes(nodes("a", "b-a")))).toEqual(all);
  });
});

test("status names of Services are ambiguous only if node names are", () => {
  const announcements = announcing("web", "web-b", "api");
  expect(announcements.kin("shop/web")).toEqual([]);
  announcements.setNodes(nodes("a", "b-a"));
  expect(announcements.kin("shop/web")).toEqual(["shop/web-b"]);
  expect(announcements.kin("shop/web-b")).toEqual(["shop/web"]);
});

import * as fc from "fast-check";
import type { LabelSelector } from "../../api/core/label-selector.ts";
import type { ObjectAge, ConfigParts } from "./config-fixtures.ts";
import { bgpAd, community, l2Ad, node, peer, pool, profile, secret } from "./config-fixtures.ts";

// Random objects for tests: much of it sound, so that objects meet; much of it hostile.

const hostile = fc.oneof(
  fc.constantFrom(
    "\n",
    "red\nrouter bgp 1\n",
    "192.0.2.1\n neighbor 6.6.6.6 remote-as 6",
    "1:1\nroute-map x",
    "3s\n",
    "\u0000",
    "\u001b[2J",
    "re\u2028d",
    "$(reboot)",
    "a b",
    "!",
    "-h",
    "é",
    "١٢٣",
    "😀",
    "__proto__",
    "constructor",
    "%s%n",
    "",
  ),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.constant("x".repeat(5000)),
);

/** One of these, or rarely anything. */
const mostly = (...texts: string[]) => fc.oneof({ weight: 24, arbitrary: fc.constantFrom(...texts) }, { weight: 1, arbitrary: hostile });
const number = (...numbers: number[]) =>
  fc.oneof(
    { weight: 24, arbitrary: fc.constantFrom(...numbers) },
    { weight: 1, arbitrary: fc.oneof(fc.integer(), fc.constantFrom(0, -1, 1e12)) },
  );
/** A few, seldom one of them twice. */
const few = <T>(one: fc.Arbitrary<T>, maxLength = 2) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.uniqueArray(one, { maxLength, selector: (value) => JSON.stringify(value) }) },
    { weight: 1, arbitrary: fc.array(one, { maxLength }) },
  );

/** Fields that are there or not. */
function fields<T extends object>(of: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> {
  return fc.record(of, { requiredKeys: [] }) as fc.Arbitrary<Partial<T>>;
}

const expression = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      key: fc.constant("rack"),
      operator: fc.constantFrom("In", "NotIn"),
      values: fc.constantFrom<string[]>(["a"], ["a", "b"]),
    }),
  },
  { weight: 4, arbitrary: fc.record({ key: fc.constant("zone"), operator: fc.constantFrom("Exists", "DoesNotExist") }) },
  {
    weight: 1,
    arbitrary: fc.record({ key: mostly("rack"), operator: mostly("In", "Exists"), values: fc.array(mostly("a", "b"), { maxLength: 2 }) }),
  },
);
const selector = fields<Required<LabelSelector>>({
  matchLabels: fc.dictionary(mostly("rack", "zone"), mostly("a", "b"), { maxKeys: 1, noNullPrototype: true }),
  matchExpressions: few<NonNullable<LabelSelector["matchExpressions"]>[number]>(expression, 1),
}) as fc.Arbitrary<LabelSelector>;

const addresses = fc.oneof(
  fc.tuple(fc.nat(3), fc.nat(255), fc.integer({ min: 22, max: 32 })).map(([a, b, length]) => `10.0.${a}.${b}/${length}`),
  fc.tuple(fc.nat(3), fc.nat(255), fc.nat(60)).map(([a, b, more]) => `10.0.${a}.${b}-10.0.${a}.${b + more}`),
  fc.integer({ min: 100, max: 128 }).map((length) => `2001:db8::/${length}`),
  fc.integer({ min: 1, max: 9 }).map((n) => `2001:db8:${n}::/64`),
  mostly("0.0.0.0/0", "::/0", "10.0.0.1-2001:db8::1", "", "10.0.0.0", "::ffff:10.0.0.0/120"),
);

const born: fc.Arbitrary<ObjectAge> = fc.record({
  hour: fc.nat(3),
  generation: fc.integer({ min: 1, max: 2 }),
  labels: fc.constantFrom({}, { rack: "a" }, { rack: "b" }),
});
const name = fc.constantFrom("a", "b", "c", "d");
const peerAddress = fc.oneof(
  fc.record({ peerAddress: mostly("192.0.2.1", "192.0.2.2", "2001:db8::1") }),
  fc.record({ interface: mostly("eth0", "eth1"), peerAddress: fc.constantFrom("", undefined) }),
);

const peerAsn = fc.oneof(
  fc.record({ peerASN: number(64_513, 64_513, 64_512, 0) }),
  fields({ peerASN: fc.constant(0), dynamicASN: mostly("internal", "external") }),
);
const password = fc.oneof(
  fields({ password: mostly("geheim") }),
  fields({ passwordSecret: fields({ name: mostly("good", "good", "good", "opaque", "empty", "broken", "missing", "locked") }) }),
  fields({ password: mostly("geheim"), passwordSecret: fields({ name: mostly("good") }) }),
);

const peers = fc
  .tuple(
    name,
    fc.tuple(peerAddress, peerAsn, password),
    fields({
      myASN: number(64_512, 64_512, 64_512, 64_600),
      localASN: number(7),
      sourceAddress: mostly("192.0.2.9"),
      peerPort: number(179),
      holdTime: mostly("9s", "90s", "10s", "1m", "1s"),
      keepaliveTime: mostly("3s", "2s", "3s", "30s"),
      connectTime: mostly("10s"),
      routerID: mostly("10.0.0.1", "10.0.0.2"),
      nodeSelectors: few(selector),
      bfdProfile: mostly("a", "b"),
      enableGracefulRestart: fc.boolean(),
      ebgpMultiHop: fc.boolean(),
      vrf: mostly("red", ""),
      dualStackAddressFamily: fc.boolean(),
    }),
    born,
  )
  .map(([name, parts, spec, born]) => peer(name, Object.assign({}, spec, ...parts) as never, born));

const selections = {
  ipAddressPools: few(mostly("a", "b")),
  ipAddressPoolSelectors: few(selector),
  nodeSelectors: few(selector),
  serviceSelectors: few(selector, 1),
};

const bgpAds = fc
  .tuple(
    name,
    fields({
      ...selections,
      aggregationLength: number(32, 32, 24),
      aggregationLengthV6: number(128, 128, 100),
      localPref: number(0, 100, 200),
      communities: few(mostly("1:1", "large:1:2:3", "1:2", "one", "two", "70000:1", "1:2:3")),
      peers: few(mostly("a", "b")),
    }),
    born,
  )
  .map(([name, spec, born]) => bgpAd(name, spec, born));

const l2Ads = fc
  .tuple(
    name,
    fields({
      ...selections,
      interfaces: few(mostly("eth0", "eth1")),
      preferredNodeSelectors: few(fc.record({ weight: number(1, 100), preference: selector })),
    }),
    born,
  )
  .map(([name, spec, born]) => l2Ad(name, spec, born));

const pools = fc
  .tuple(
    name,
    fc.oneof(
      { weight: 20, arbitrary: fc.array(addresses, { minLength: 1, maxLength: 2 }) },
      { weight: 1, arbitrary: fc.constant<string[]>([]) },
    ),
    fields({
      serviceAllocation: fields({
        priority: number(1, 2),
        namespaces: few(mostly("default")),
        namespaceSelectors: few(selector),
        serviceSelectors: few(selector),
      }),
    }),
    born,
  )
  .map(([name, addresses, spec, born]) => pool(name, addresses, spec as never, born));

const profiles = fc
  .tuple(
    name,
    fields({
      receiveInterval: number(300),
      transmitInterval: number(300),
      echoInterval: number(50),
      detectMultiplier: number(3),
      minimumTtl: number(254),
      echoMode: fc.boolean(),
      passiveMode: fc.boolean(),
    }),
    born,
  )
  .map(([name, spec, born]) => profile(name, spec, born));

const communities = fc
  .tuple(
    name,
    fc.dictionary(mostly("one", "two"), mostly("1:1", "large:1:1:1", "1:2", "1:3", "1"), { maxKeys: 2, noNullPrototype: true }),
    born,
  )
  .map(([name, aliases, born]) => community(name, aliases, born));

const SECRETS = [
  secret("good"),
  secret("opaque", { type: "Opaque" }),
  secret("empty", { data: {} }),
  secret("broken", { data: { password: Buffer.from("a\nb").toString("base64") } }),
];

/** About twenty objects of every sort, no two of a kind with one name. */
export const parts: fc.Arbitrary<ConfigParts> = fc.record({
  pools: several(pools),
  peers: several(peers),
  bfdProfiles: several(profiles),
  bgpAdvertisements: several(bgpAds),
  l2Advertisements: several(l2Ads),
  communities: several(communities),
  namespaces: fc.constant([node("default", { rack: "a" })]),
  nodes: fc.constantFrom([], [node("n1", { rack: "a" })], [node("n1", { rack: "a" }), node("n2", { rack: "b" })]),
  extras: mostly("! hello\n", "router bgp 1\n"),
  secrets: fc.constant(SECRETS),
  unreadable: fc.constant(["locked"]),
});

function several<T extends { metadata: { name: string } }>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.uniqueArray(one, { minLength: 1, maxLength: 4, selector: ({ metadata }) => metadata.name });
}

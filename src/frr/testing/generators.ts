import * as fc from "fast-check";
import type { ConfigLine, Fragment } from "../fragment.ts";

// Random routers of the kind that is rendered: an Underlay, VRFs with and without a session, gateway subnets. Pools of values are small, so that two of them share
// much, differ in single values, and take each other's VNIs, neighbors and names. Values that FRR hides as defaults are never drawn.

const ASNS = [64514, 64520] as const;
const VRFS = ["red", "blue", "green", "cyan"] as const;
const EXTERNAL_ASNS = [64512, 64513, 4200000001] as const;

interface Profile {
  readonly name: string;
  readonly lines: readonly string[];
}

interface Neighbor {
  /** Or the interface of an unnumbered neighbor. */
  readonly address: string;
  readonly lines: readonly string[];
  readonly profile: Profile | undefined;
  readonly allowed: boolean;
}

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const listed = (...lines: readonly (string | false | undefined)[]): ConfigLine[] => lines.flatMap((line) => (line ? [{ line }] : []));
const context = (line: string, ...inside: readonly ConfigLine[]): ConfigLine => ({ line, inside });
const family = (name: string, ...lines: readonly (string | false | undefined)[]): ConfigLine[] => {
  const inside = listed(...lines);
  return inside.length ? [context(`address-family ${name}`, ...inside)] : [];
};
const isV6 = (address: string) => address.includes(":");
const isInterface = (address: string) => address.startsWith("eth");

const profileLines = fc
  .record({
    receive: some(fc.constantFrom(100, 250)),
    transmit: some(fc.constantFrom(100, 250)),
    multiplier: some(fc.constantFrom(2, 5, 255)),
    passive: fc.boolean(),
    echo: fc.boolean(),
    echoInterval: some(fc.constantFrom(60, 100)),
    ttl: some(fc.constantFrom(1, 10)),
  })
  .map(({ receive, transmit, multiplier, passive, echo, echoInterval, ttl }) =>
    [
      multiplier && `detect-multiplier ${multiplier}`,
      transmit && `transmit-interval ${transmit}`,
      receive && `receive-interval ${receive}`,
      passive && "passive-mode",
      echo && "echo-mode",
      echoInterval && `echo transmit-interval ${echoInterval}`,
      echoInterval && `echo receive-interval ${echoInterval}`,
      ttl && `minimum-ttl ${ttl}`,
    ].filter((line): line is string => typeof line === "string"),
  );

function neighbors(own: number): fc.Arbitrary<Neighbor> {
  return fc
    .record({
      address: fc.constantFrom("192.168.11.2", "192.168.11.3", "192.168.12.2", "fd00:11::2", "fd00:12::2", "eth1", "eth2"),
      asn: fc.constantFrom(own, ...EXTERNAL_ASNS, "external" as const, "internal" as const),
      multihop: fc.constantFrom(undefined, undefined, 2, 255),
      port: some(fc.constantFrom(1179, 1790)),
      timers: some(fc.constantFrom("3 9", "60 180", "0 0")),
      connect: some(fc.constantFrom(1, 5, 120)),
      password: some(fc.constantFrom("s3cret", 'p"a$s|s?', "%d")),
      bfd: fc.boolean(),
      profile: some(profileLines),
    })
    .map(({ address, asn, multihop, port, timers, connect, password, bfd, profile }): Neighbor => {
      const external = asn !== own && asn !== "internal";
      const of = (setting: string) => `neighbor ${address} ${setting}`;
      const named = bfd && profile ? { name: `neighbor-${address}`, lines: profile } : undefined;
      const lines = [
        of(`${isInterface(address) ? "interface " : ""}remote-as ${asn}`),
        bfd && of("bfd"),
        named && of(`bfd profile ${named.name}`),
        password && of(`password ${password}`),
        port && of(`port ${port}`),
        external && multihop && !isInterface(address) && of(`ebgp-multihop ${multihop}`),
        external && !multihop && isV6(address) && of("disable-connected-check"),
        timers && of(`timers ${timers}`),
        connect && of(`timers connect ${connect}`),
      ].filter((line): line is string => typeof line === "string");
      return { address, lines, profile: named, allowed: external };
    });
}

const inFamily = ({ address, allowed }: Neighbor) => [
  `neighbor ${address} activate`,
  `neighbor ${address} ${allowed ? "allowas-in" : "next-hop-self force"}`,
];
const COMMON = ["no bgp ebgp-requires-policy", "no bgp network import-check", "no bgp default ipv4-unicast"];
const ALLOW_ALL = context("route-map allowall permit 1");

const underlays: fc.Arbitrary<{ asn: number; evpn: boolean; fragment: Fragment }> = fc
  .record({
    asn: fc.constantFrom(ASNS[0], ASNS[0], ASNS[0], ASNS[0], ASNS[0], ASNS[0], ASNS[0], ASNS[1]),
    hostname: fc.constantFrom("node-a", "node-b"),
    level: some(fc.constantFrom("informational", "errors")),
    routerId: fc.constantFrom("10.0.0.1", "10.0.0.2"),
    vtep: some(fc.constantFrom("100.65.0.1/32", "100.65.0.2/32")),
    relax: fc.boolean(),
    restart: some(fc.record({ restart: some(fc.constantFrom(60, 90)), stale: some(fc.constantFrom(100, 4095)) })),
  })
  .chain((underlay) =>
    fc
      .uniqueArray(neighbors(underlay.asn), { minLength: 1, maxLength: 4, selector: ({ address }) => address })
      .map((peers) => ({ underlay, peers })),
  )
  .map(({ underlay: { asn, hostname, level, routerId, vtep, relax, restart }, peers }) => {
    const profiles = peers.flatMap(({ profile }) => (profile ? [context(`profile ${profile.name}`, ...listed(...profile.lines))] : []));
    const unicast = (v6: boolean) => peers.filter(({ address }) => isV6(address) === v6).flatMap(inFamily);
    const evpn = peers.flatMap(inFamily);
    const lines = [
      ...listed(
        `hostname ${hostname}`,
        level && `log stdout ${level}`,
        "log timestamp precision 3",
        "ip nht resolve-via-default",
        "ipv6 nht resolve-via-default",
      ),
      ...(profiles.length ? [context("bfd", ...profiles)] : []),
      ALLOW_ALL,
      context(
        `router bgp ${asn}`,
        ...listed(
          ...COMMON,
          `bgp router-id ${routerId}`,
          relax && "bgp bestpath as-path multipath-relax",
          restart?.stale && `bgp graceful-restart stalepath-time ${restart.stale}`,
          restart?.restart && `bgp graceful-restart restart-time ${restart.restart}`,
          restart && "bgp graceful-restart",
          restart && "bgp graceful-restart preserve-fw-state",
          ...peers.flatMap(({ lines }) => lines),
        ),
        ...family("ipv4 unicast", vtep && `network ${vtep}`, ...unicast(false)),
        ...family("ipv6 unicast", ...unicast(true)),
        ...(vtep ? family("l2vpn evpn", ...evpn, "advertise-all-vni") : []),
      ),
    ];
    return { asn, evpn: vtep !== undefined, fragment: { owner: "Underlay/underlay", lines } };
  });

interface Vrf {
  readonly name: string;
  readonly vni: number;
  readonly routerId: string;
  readonly session: { readonly asn: number; readonly host: number; readonly v6: boolean } | undefined;
  readonly gateways: readonly string[];
  readonly imports: readonly string[];
  readonly exports: readonly string[];
}

const targets = fc.uniqueArray(fc.constantFrom("64512:100", "64512:200", "192.0.2.1:7"), { maxLength: 2 });

const vrfs: fc.Arbitrary<Vrf> = fc.record({
  name: fc.constantFrom(...VRFS),
  vni: fc.constantFrom(100, 200, 300, 400, 500, 16777215),
  routerId: fc.constantFrom("10.0.0.1", "10.0.0.2"),
  session: some(fc.record({ asn: fc.constantFrom(64514, 64515), host: fc.constantFrom(64516, 64517), v6: fc.boolean() })),
  gateways: fc.uniqueArray(fc.constantFrom("192.170.1.0/24", "192.170.2.0/24", "2001:db8:1::/64"), { maxLength: 2 }),
  imports: targets,
  exports: targets,
});

/** A VRF as one or two owners ask for it: the L3VNI, and an L2VNI whose gateway subnets stand in the same instance. */
function fragmentsOf(vrf: Vrf, underlayAsn: number): Fragment[] {
  const { name, vni, routerId, session, gateways, imports, exports } = vrf;
  const instance = `router bgp ${session?.asn ?? underlayAsn} vrf ${name}`;
  const shared = listed(...COMMON, `bgp router-id ${routerId}`);
  const host = session && (session.v6 ? `2001:db8:f${vni % 250}::2` : `10.1.${vni % 250}.2`);
  const speaks = host ? ["activate", "route-map allowall in", "route-map allowall out"].map((what) => `neighbor ${host} ${what}`) : [];
  const l3: Fragment = {
    owner: `L3VNI/${name}`,
    lines: [
      context(`vrf ${name}`, { line: `vni ${vni}` }),
      ALLOW_ALL,
      context(
        instance,
        ...shared,
        ...listed(vni % 200 === 0 && "bgp bestpath as-path multipath-relax", host && `neighbor ${host} remote-as ${session?.host}`),
        ...family("ipv4 unicast", host && !session?.v6 && `network ${host}/32`, ...speaks),
        ...family("ipv6 unicast", host && session?.v6 && `network ${host}/128`, ...speaks),
        ...family(
          "l2vpn evpn",
          "advertise ipv4 unicast",
          "advertise ipv6 unicast",
          ...imports.map((target) => `route-target import ${target}`),
          ...exports.map((target) => `route-target export ${target}`),
        ),
      ),
    ],
  };
  if (gateways.length === 0) return [l3];
  const nets = (v6: boolean) => gateways.filter((net) => isV6(net) === v6).map((net) => `network ${net}`);
  return [
    l3,
    {
      owner: `L2VNI/${name}-1`,
      lines: [context(instance, ...shared, ...family("ipv4 unicast", ...nets(false)), ...family("ipv6 unicast", ...nets(true)))],
    },
  ];
}

/** A session with the host in the fabric's own instance, which may show the host another AS. */
const passthroughs = fc.record({ v6: fc.boolean(), asn: fc.constantFrom(64514, 64530, 64531), host: fc.constantFrom(64516, 64517) });

function passthroughOf({ v6, asn, host }: { v6: boolean; asn: number; host: number }, underlayAsn: number): Fragment {
  const peer = v6 ? "2001:db8:99::2" : "10.99.0.2";
  return {
    owner: "L3Passthrough/through",
    lines: [
      ALLOW_ALL,
      context(
        `router bgp ${underlayAsn}`,
        ...listed(`neighbor ${peer} remote-as ${host}`, asn !== underlayAsn && `neighbor ${peer} local-as ${asn} no-prepend replace-as`),
        ...family(
          v6 ? "ipv6 unicast" : "ipv4 unicast",
          `network ${peer}/${v6 ? 128 : 32}`,
          `neighbor ${peer} activate`,
          `neighbor ${peer} route-map allowall in`,
          `neighbor ${peer} route-map allowall out`,
        ),
      ),
    ],
  };
}

/** What a node's valid resources ask of FRR, the Underlay first; now and then nothing at all. */
export const routers: fc.Arbitrary<Fragment[]> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Fragment[]>([]) },
  {
    weight: 12,
    arbitrary: underlays.chain(({ asn, evpn, fragment }) =>
      fc
        .tuple(
          some(passthroughs),
          fc.uniqueArray(vrfs, { maxLength: evpn ? VRFS.length : 0, comparator: (a, b) => a.name === b.name || a.vni === b.vni }),
        )
        .map(([passthrough, vrfs]) =>
          [fragment].concat(
            passthrough ? passthroughOf(passthrough, asn) : [],
            vrfs.flatMap((vrf) => fragmentsOf(vrf, asn)),
          ),
        ),
    ),
  },
);

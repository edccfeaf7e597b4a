import * as fc from "fast-check";
import type { NetnsRole, DesiredLink } from "../../src/hostnet/desired-link.ts";

const ROLES: readonly NetnsRole[] = ["host", "router"];
const ADDRESSES = ["10.1.0.1/24", "10.1.0.2/24", "10.2.0.1/16", "192.0.2.1/32", "2001:db8:1::1/64", "2001:db8:2::1/64", "fd00::1/128"];
const OWNERS = ["L2VNI/red", "L2VNI/blue", "L3VNI/red"];
const BRIDGES = ["br-0", "br-1", "br-2"];
const VRFS = ["red", "blue"];
const DUMMIES = ["lound", "br-1"];

const netns = fc.constantFrom(...ROLES);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });

const common = fc.record({
  owner: fc.constantFrom(...OWNERS),
  addresses: optional(fc.uniqueArray(fc.constantFrom(...ADDRESSES), { maxLength: 4 })),
  mac: optional(fc.constantFrom("00:f3:00:00:00:65", "00:f3:00:00:00:66")),
  mtu: optional(fc.constantFrom(1400, 1450, 1500)),
  addrGenMode: optional(fc.constant("none" as const)),
});

const vrf = fc.record({
  netns,
  name: fc.constantFrom(...VRFS),
  type: fc.constant("vrf" as const),
  common: fc.record({ owner: fc.constantFrom(...OWNERS) }),
});
const inVrf = optional(fc.constantFrom(...VRFS));
const dummy = fc.record({ netns, name: fc.constantFrom(...DUMMIES), type: fc.constant("dummy" as const), common, master: inVrf });
const bridge = fc.record({ netns, name: fc.constantFrom(...BRIDGES), type: fc.constant("bridge" as const), common, master: inVrf });
/** Their names are those of bridges too: sometimes a link must become one of another type. */
const vxlan = fc.record({
  netns,
  name: fc.constantFrom("vni0", "vni1", "br-2"),
  type: fc.constant("vxlan" as const),
  common,
  master: optional(fc.constantFrom(...BRIDGES)),
  vni: fc.constantFrom(100, 101, 102),
  port: fc.constantFrom(4789, 8472),
  local: fc.constantFrom("10.255.0.1", "10.255.0.2", "fd00:255::1"),
  device: fc.constantFrom("lo", ...DUMMIES),
});
const leg = fc.record({
  netns,
  name: fc.constantFrom("leg-a", "leg-b", "leg-c"),
  common,
  master: optional(fc.constantFrom(...BRIDGES, ...VRFS)),
});
const cable = fc.tuple(leg, leg);

const linkSets = fc.record({
  vrfs: fc.array(vrf, { maxLength: 3 }),
  dummies: fc.array(dummy, { maxLength: 2 }),
  bridges: fc.array(bridge, { maxLength: 5 }),
  vxlans: fc.array(vxlan, { maxLength: 3 }),
  cables: fc.array(cable, { maxLength: 3 }),
});
type LinkSet = typeof linkSets extends fc.Arbitrary<infer W> ? W : never;

/** Any set of links that the kernel can have at once; VRFs and dummies only where it knows them. */
export function states({ vrfs }: { vrfs: boolean }): fc.Arbitrary<DesiredLink[]> {
  return linkSets.map((links) => possible(vrfs ? links : { ...links, vrfs: [], dummies: [] }));
}

function possible({ vrfs, dummies, bridges, vxlans, cables }: LinkSet): DesiredLink[] {
  const links = new Map<string, DesiredLink>();
  const typeOf = (at: NetnsRole, name = "") => links.get(`${at}/${name}`)?.type;
  const add = (
    link: { netns: NetnsRole; name: string; common: object; master?: string | undefined },
    also: object,
    ...masters: string[]
  ) => {
    const { common: fields, master, ...own } = link;
    const allowed = masters.includes(typeOf(link.netns, master) ?? "") ? master : undefined;
    const whole = Object.entries({ ...own, ...fields, master: allowed, ...also }).filter(([, value]) => value !== undefined);
    links.set(`${link.netns}/${link.name}`, Object.fromEntries(whole) as unknown as DesiredLink);
  };
  const isFree = ({ netns: at, name }: { netns: NetnsRole; name: string }) => typeOf(at, name) === undefined;

  for (const link of vrfs) if (isFree(link)) add(link, {});
  for (const link of dummies) if (isFree(link)) add(link, {}, "vrf");
  for (const link of bridges) if (isFree(link)) add(link, {}, "vrf");
  for (const link of vxlans) {
    const clashes = [...links.values()].some((other) => other.type === "vxlan" && other.netns === link.netns && other.vni === link.vni);
    const device = typeOf(link.netns, link.device) === "dummy" ? link.device : "lo";
    if (isFree(link) && !clashes) add(link, { device }, "bridge");
  }
  for (const [near, far] of cables) {
    const same = near.netns === far.netns && near.name === far.name;
    if (same || !isFree(near) || !isFree(far)) continue;
    add(near, { type: "veth", peer: { netns: far.netns, name: far.name } }, "bridge", "vrf");
    add(far, { type: "veth", peer: { netns: near.netns, name: near.name } }, "bridge", "vrf");
  }
  return [...links.values()];
}

/** What a person does to links. `at` chooses which, `how` what. */
export const meddlings = fc.array(
  fc.record({
    at: fc.nat(),
    how: fc.constantFrom(
      "link del dev NAME",
      "link set dev NAME down",
      "link set dev NAME nomaster",
      "link set dev NAME mtu 1300",
      "link set dev NAME address 02:00:00:00:00:77",
      "link set dev NAME alias plumbline:L2VNI/other",
      "link set dev NAME addrgenmode eui64",
      "link set dev NAME master foreign-br",
      "addr flush dev NAME",
      "addr add 10.1.0.77/24 dev NAME",
      "addr add 2001:db8:77::1/64 dev NAME",
    ),
  }),
  { maxLength: 4 },
);

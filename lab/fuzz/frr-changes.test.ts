import * as fc from "fast-check";
import { expect, test } from "vitest";
import { entriesOf, frrChanges, torChanges } from "./frr-changes.ts";

const CONFIG = `Building configuration...

Current configuration:
!
frr version 8.4.4
hostname node1
!
vrf red
 vni 100
exit-vrf
!
router bgp 64514
 no bgp ebgp-requires-policy
 neighbor 192.168.11.2 remote-as 64512
 !
 address-family l2vpn evpn
  neighbor 192.168.11.2 activate
  advertise-all-vni
 exit-address-family
exit
!
end
`;

test("every line can be removed, and is restored with its nested lines", () => {
  const changes = frrChanges(CONFIG, "router");
  expect(changes.map(({ was }) => was)).toEqual([
    "frr vrf red",
    "frr vrf red / vni 100",
    "frr router bgp 64514",
    "frr router bgp 64514 / no bgp ebgp-requires-policy",
    "frr router bgp 64514 / neighbor 192.168.11.2 remote-as 64512",
    "frr router bgp 64514 / address-family l2vpn evpn",
    "frr router bgp 64514 / address-family l2vpn evpn / neighbor 192.168.11.2 activate",
    "frr router bgp 64514 / address-family l2vpn evpn / advertise-all-vni",
  ]);
  expect(changes[3]?.make).toBe("vtysh -N plumbline-router -c 'configure terminal' -c 'router bgp 64514' -c 'bgp ebgp-requires-policy'");
  expect(changes[5]?.undo).toBe(
    "vtysh -N plumbline-router -c 'configure terminal' -c 'router bgp 64514' -c 'address-family l2vpn evpn' -c 'neighbor 192.168.11.2 activate' -c 'advertise-all-vni'",
  );
});

test("lines have the path of their contexts, at any depth", () => {
  interface Tree {
    readonly line: string;
    readonly inside: readonly Tree[];
  }
  const text = fc.stringMatching(/^[a-d]{1,6}$/);
  const leaf: fc.Arbitrary<Tree> = fc.record({ line: text, inside: fc.constant([]) });
  const around = (inside: fc.Arbitrary<Tree>) => fc.record({ line: text, inside: fc.array(inside, { maxLength: 3 }) });
  const tree = around(around(around(leaf)));
  const printed = ({ line, inside }: Tree, depth = 0): string[] => [
    " ".repeat(depth) + line,
    ...inside.flatMap((one) => printed(one, depth + 1)),
  ];
  const paths = ({ line, inside }: Tree, above: readonly string[] = []): string[][] => [
    [...above, line],
    ...inside.flatMap((one) => paths(one, [...above, line])),
  ];
  fc.assert(
    fc.property(fc.array(tree, { maxLength: 4 }), (trees) => {
      const entries = entriesOf(trees.flatMap((one) => printed(one)).join("\n"));
      expect(entries.map(({ path, line }) => path.concat(line))).toEqual(trees.flatMap((one) => paths(one)));
    }),
    { seed: 1 },
  );
});

test("at the ToR only the neighbor of the node is changed", () => {
  const config = "router bgp 64512\n neighbor 192.168.11.11 peer-group nodes\n neighbor 192.168.11.12 peer-group nodes\nexit\n";
  const changes = torChanges(config, "192.168.11.12");
  expect(changes[0]?.make).toBe("vtysh -c 'configure terminal' -c 'router bgp 64512' -c 'no neighbor 192.168.11.12 peer-group nodes'");
  for (const { make, undo } of changes) expect(`${make} ${undo}`).not.toContain("192.168.11.11");
});

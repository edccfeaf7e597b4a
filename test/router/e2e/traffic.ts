import { beforeAll, expect, test } from "vitest";
import { speakerAddress } from "../../../lab/net/speaker.ts";
import { hostAddress, type NodeName, SEGMENTS } from "../../../lab/net/topology.ts";
import { EVENTUALLY, type TestLab } from "../../support/router-lab.ts";
import { NODES } from "../../support/nodes.ts";

const [shop, stock] = SEGMENTS as unknown as [(typeof SEGMENTS)[number], (typeof SEGMENTS)[number]];

const VTEP: Record<NodeName, string> = { node1: "100.65.0.0", node2: "100.65.0.1", node3: "100.65.0.2" };

/** A VRF of one node alone, with one broadcast domain. */
function tenant(name: string, node: NodeName, vni: number, subnet: string, [exported, imported]: readonly [string, string]): string {
  return `
kind: L2VNI
metadata: { name: ${name}-net }
spec:
  vrf: ${name}
  vni: ${vni}
  hostmaster: { type: linux-bridge, linuxBridge: { autoCreate: true } }
  l2gatewayips: [${subnet}.1/24]
  nodeSelector: { matchLabels: { kubernetes.io/hostname: ${node} } }
---
kind: L3VNI
metadata: { name: ${name} }
spec:
  vrf: ${name}
  vni: 300
  exportRTs: ["${exported}"]
  importRTs: ["${imported}"]
  nodeSelector: { matchLabels: { kubernetes.io/hostname: ${node} } }
`;
}

/** Routes and packets from node to node. */
export function trafficTests(lab: () => TestLab): void {
  beforeAll(async () => {
    await lab().clear();
    for (const file of ["underlay.yaml", "red.yaml", "blue.yaml"]) await lab().applyExample(file);
  });

  /** Prefixes of one EVPN route type that a node has received from another, such as `[2]:[0]:[48]:[aa:..]:[32]:[10.110.0.12]`. */
  async function routesFrom(at: NodeName, other: NodeName, type: "2" | "5"): Promise<string[]> {
    type Table = Record<string, Record<string, { paths?: { nexthops?: { ip: string }[] }[][] }>>;
    const table = await lab().show<Table>(at, `show bgp l2vpn evpn route type ${type} json`);
    const found = Object.values(table).flatMap((routes) => (typeof routes === "object" ? Object.entries(routes) : []));
    return found.flatMap(([prefix, route]) =>
      route?.paths?.flat().some((path) => path.nexthops?.some(({ ip }) => ip === VTEP[other])) ? [prefix] : [],
    );
  }

  /** `node1 L2VNI shop Applied`, of all nodes. */
  async function states(): Promise<string[]> {
    const every = NODES.map(async (node) =>
      ((await lab().status(node))?.resources ?? []).map(({ kind, name, state }) => `${node} ${kind} ${name} ${state}`),
    );
    return (await Promise.all(every)).flat().toSorted();
  }

  test("every node is Ready, with its session to the ToR", async () => {
    const resources = ["L2VNI shop", "L2VNI stock", "L3VNI blue", "L3VNI red", "Underlay underlay"];
    await expect.poll(states, EVENTUALLY).toEqual(NODES.flatMap((node) => resources.map((resource) => `${node} ${resource} Applied`)));
    for (const node of NODES) {
      expect(await lab().condition(node, "Ready")).toBe("True");
      const sessions = async () => ((await lab().status(node))?.sessions ?? []).map(({ neighbor, state }) => `${neighbor} ${state}`);
      await expect.poll(sessions, EVENTUALLY).toContain("192.168.11.2 Established");
      await expect.poll(() => lab().condition(node, "VNIsUp"), EVENTUALLY).toBe("True");
    }
  });

  test.each([
    ["node1", "node2"],
    ["node2", "node3"],
    ["node3", "node1"],
  ] as const)("hosts on an L2VNI reach each other over VXLAN, from %s to %s", async (from, to) => {
    await expect.poll(() => lab().pings(from, shop.name, hostAddress(shop, to)), EVENTUALLY).toBe(true);
  });

  test("two L2VNIs of one VRF are routed across nodes through the L3VNI", async () => {
    // Two routers on the way, so it goes through the L3VNI and not over stock's own VXLAN.
    const ping = ["ip", "netns", "exec", shop.name, "ping", "-c1", "-W1", hostAddress(stock, "node2")];
    await expect.poll(async () => (await lab().exec("node1", ...ping)).stdout, EVENTUALLY).toContain("ttl=62");
  });

  test("two nodes exchange type-2 and type-5 routes", async () => {
    // A router knows the address of a host that has spoken to it.
    for (const node of ["node1", "node2"] as const) await lab().pings(node, shop.name, shop.gateway);
    await expect.poll(() => routesFrom("node1", "node2", "2"), EVENTUALLY).toContainEqual(expect.stringContaining("10.110.0.12"));
    await expect.poll(() => routesFrom("node2", "node1", "2"), EVENTUALLY).toContainEqual(expect.stringContaining("10.110.0.11"));
    await expect.poll(() => routesFrom("node1", "node2", "5"), EVENTUALLY).toContainEqual(expect.stringContaining("10.110.0.0"));
  });

  test("a HostSession peers with an FRR on the node, and its prefixes are reached from another node", async () => {
    for (const node of NODES) await expect.poll(() => lab().condition(node, "SessionsEstablished"), EVENTUALLY).toBe("True");
    const ping = ["ping", "-c1", "-W1", "-I", speakerAddress("node1"), speakerAddress("node2")];
    await expect.poll(async () => (await lab().exec("node1", ...ping)).code, EVENTUALLY).toBe(0);
  });

  test("two VRFs reach each other through importRTs", async () => {
    await lab().apply(tenant("green", "node1", 310, "10.131.0", ["64514:31", "64514:32"]));
    await lab().apply(tenant("amber", "node2", 320, "10.132.0", ["64514:32", "64514:31"]));
    for (const [node, bridge, subnet] of [
      ["node1", "br-hs-310", "10.131.0"],
      ["node2", "br-hs-320", "10.132.0"],
    ] as const) {
      await expect.poll(async () => (await lab().exec(node, "ip", "link", "show", bridge)).code, EVENTUALLY).toBe(0);
      await lab()
        .host(node)
        .ip(["netns add tenant", `link add to-tenant up master ${bridge} type veth peer name eth0 netns tenant`]);
      const lines = [`address add ${subnet}.10/24 dev eth0`, "link set eth0 up", `route add default via ${subnet}.1`, ""];
      await lab()
        .host(node)
        .do(["ip", "-n", "tenant", "-batch", "-"], { input: lines.join("\n") });
    }
    await expect.poll(() => lab().pings("node1", "tenant", "10.132.0.10"), EVENTUALLY).toBe(true);
  });
}

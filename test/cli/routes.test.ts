import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readRoutes } from "../../src/cli/routes/read-routes.ts";
import { routeRows, sessionCounts } from "../../src/cli/routes/route-rows.ts";
import { runHere } from "../../src/cli/support-bundle/run-on-node.ts";
import { FRR_RELEASES, frrInNamespace, run, type FrrInNamespace } from "../support/frr.ts";

// What `plumbline routes` reads of a node whose load balancer and router are real FRRs, in the main table: VRFs are in the lab.

const signal = AbortSignal.timeout(10 * 60_000);
const patient = { timeout: 60_000, interval: 200 };
const NO_FRR = "/run/frr/none";

describe.each(FRR_RELEASES)("FRR %s", (version) => {
  let balancer: FrrInNamespace;
  let router: FrrInNamespace;
  beforeAll(async () => {
    [balancer, router] = await Promise.all([frrInNamespace({ version }), frrInNamespace({ version })]);
    await run("ip", "link", "add", "eth0", "netns", balancer.netns, "type", "veth", "peer", "name", "eth0", "netns", router.netns);
    for (const [frr, me, lines] of [
      [balancer, 1, ["router bgp 64511"]],
      [router, 2, ["router bgp 64512"]],
    ] as const) {
      const other = `neighbor 192.0.2.${3 - me}`;
      await run("ip", "-n", frr.netns, "addr", "add", `192.0.2.${me}/24`, "dev", "eth0");
      await run("ip", "-n", frr.netns, "link", "set", "eth0", "up");
      const bgpd = await frr.instance.router.open("bgpd", signal);
      const own = me === 1 ? ["network 10.0.0.1/32"] : [];
      await bgpd.configure(
        [
          ...lines,
          "no bgp ebgp-requires-policy",
          "no bgp network import-check",
          `${other} remote-as 6451${3 - me}`,
          `${other} timers connect 1`,
          "address-family ipv4 unicast",
          ...own,
        ],
        signal,
      );
      bgpd.close();
    }
  });
  afterAll(() => Promise.all([balancer.stop(), router.stop()]));

  const node = { name: "node1", run: (command: readonly string[]) => runHere(command, signal) };
  const paths = () => ({
    hostNetns: balancer.netns,
    lbFrrRunDirectory: balancer.instance.runDirectory,
    routerNetns: router.netns,
    frrRunDirectory: router.instance.runDirectory,
  });

  test("a prefix is followed from the load balancer that sends it to the kernel of the router that selects it", async () => {
    await vi.waitFor(async () => {
      const rows = (await readRoutes(node, ["10.0.0.1"], signal, paths())).flatMap(routeRows);
      const of = { node: "node1", prefix: "10.0.0.1/32" };
      expect(rows).toEqual([
        {
          ...of,
          instance: "loadbalancer",
          vrf: "default",
          peer: "192.0.2.2",
          state: "Established",
          sent: true,
          received: false,
          selected: false,
          inKernel: false,
        },
        { ...of, instance: "loadbalancer", vrf: "default", sent: false, received: true, selected: true, inKernel: false },
        {
          ...of,
          instance: "router",
          vrf: "default",
          peer: "192.0.2.1",
          state: "Established",
          sent: expect.any(Boolean) as boolean,
          received: true,
          selected: true,
          inKernel: true,
        },
      ]);
    }, patient);
  });

  test("without a prefix the routes of each session are counted", async () => {
    const counts = (await readRoutes(node, undefined, signal, paths())).flatMap(sessionCounts);
    expect(counts).toEqual([
      expect.objectContaining({ instance: "loadbalancer", peer: "192.0.2.2", sent: 1, received: 0, selected: 0, inKernel: 0 }),
      { node: "node1", instance: "loadbalancer", vrf: "default", sent: 0, received: 1, selected: 1, inKernel: 0 },
      expect.objectContaining({ instance: "router", vrf: "default", peer: "192.0.2.1", received: 1, selected: 1, inKernel: 1 }),
    ]);
  });

  test("an FRR that does not run is left out, and a node that cannot be entered says why", async () => {
    const rows = await readRoutes(node, undefined, signal, { ...paths(), lbFrrRunDirectory: NO_FRR });
    expect(rows.map(({ instance }) => instance)).toEqual(["router"]);
    const away = { name: "node2", run: () => Promise.resolve({ code: 127, stdout: "", stderr: "kubectl: not found" }) };
    await expect(readRoutes(away, undefined, signal)).rejects.toThrow("kubectl: not found");
  });
});

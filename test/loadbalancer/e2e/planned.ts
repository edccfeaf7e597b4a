import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ConnectAttempt } from "../../../lab/services/connect.ts";
import { Deployment } from "../../../src/api/core/deployment.ts";
import { Service } from "../../../src/api/core/service.ts";
import { AGENT_PROCESS } from "../../../lab/cli/agents.ts";
import type { ServiceLab } from "../../support/service-lab.ts";
import { NODES } from "../../support/nodes.ts";

/** Three times the timeout of an agent here, and longer than the lifetime of an address without a refresh. */
const OUTAGE_MS = 45_000;
/** So long an address lives that an agent refreshes; the one that it leaves behind lives longer. */
const REFRESHED_S = 25;

/** What operators do on purpose, with a client that connects all along: not one attempt may be lost. */
export function plannedTests(lab: () => ServiceLab): void {
  /** The attempts that failed since then; those that came late are printed. */
  async function lost(since: number): Promise<ConnectAttempt[]> {
    const { ok, failed, late } = await lab().since(since, "web", "wiki");
    if (late.length > 0) process.stdout.write(`  ${late.length} of ${ok.length} connections came a second late\n`);
    return failed;
  }

  const agentOf = async (node: string) => (await lab().host(node).run(["pgrep", "-f", AGENT_PROCESS])).stdout.trim();

  async function restart(node: string): Promise<void> {
    const before = await agentOf(node);
    await lab().host(node).do(["pkill", "-TERM", "-f", AGENT_PROCESS]);
    await lab().eventually(`${node} has a new agent`, async () => !["", before].includes(await agentOf(node)));
  }

  test("agents that are restarted in sequence keep their sessions and addresses", async () => {
    const began = Date.now();
    const turns = lab().addressHistory.turns.length;
    for (const node of NODES) await restart(node);
    await lab().eventually("all announce", async () => (await lab().towards(lab().address("web"))).length === NODES.length);
    expect(lab().addressHistory.turns.slice(turns)).toEqual([]);
    expect(await lost(began)).toEqual([]);
  });

  test("a restarted load balancer FRR comes back with its sessions and breaks no connection", async () => {
    const began = Date.now();
    await lab().fault("lb-frr-killed", "node1");
    await lab().eventually(
      "it runs again",
      async () => (await lab().host("node1").run(["pgrep", "-f", "/bgpd .*-N plumbline-lb"])).code === 0,
    );
    await lab().eventually("the tor has a way over every node", async () => {
      const text = await lab().host("tor").do(["vtysh", "-c", "show bgp neighbors 192.168.11.11 json"]);
      return text.includes('"bgpState":"Established"') && (await lab().towards(lab().address("web"))).length === NODES.length;
    });
    expect(await lost(began)).toEqual([]);
  });

  test("a node withdraws its announcement while its terminating pods still serve, and no connection is lost", async () => {
    const began = Date.now();
    const scale = (replicas: number) =>
      lab()
        .lab.api.client.resource(Deployment)
        .patch({ name: "web", namespace: "default" }, { spec: { replicas } }, { signal: lab().signal });
    await scale(2);
    await lab().eventually("the tor has a way over two nodes", async () => (await lab().towards(lab().address("web"))).length === 2);
    await scale(3);
    await lab().eventually("three nodes announce", async () => (await lab().towards(lab().address("web"))).length === 3);
    expect(await lost(began)).toEqual([]);
  });

  test("an exhausted pool is reported, and a freed address goes to the waiting Service", async () => {
    const began = Date.now();
    await lab().fault("pool-exhausted", "node1");
    const crowd = ["crowd-1", "crowd-2", "crowd-3", "crowd-4"];
    const waiting = () => crowd.filter((name) => lab().service(name).addresses.length === 0);
    await lab().eventually("one of four waits", () => waiting().length === 1);
    const served = crowd.find((name) => !waiting().includes(name)) ?? "";
    const [waiter = ""] = waiting();
    await lab().delete(Service, served, "default");
    await lab().eventually("it has the address that became free", () => lab().service(waiter).addresses.length === 1);
    await lab().fault("pool-exhausted", "node1", "fix");
    expect(await lost(began)).toEqual([]);
  });

  /** The lifetime of wiki's address on a node without a refresh. */
  async function secondsToLive(node: string): Promise<number> {
    const address = lab().address("wiki");
    const links = JSON.parse(await lab().host(node).do(["ip", "-j", "address", "show", "to", address])) as {
      addr_info?: { valid_life_time: number }[];
    }[];
    return links.flatMap(({ addr_info: addresses = [] }) => addresses)[0]?.valid_life_time ?? 0;
  }

  test("an API outage longer than Leases and address lifetimes breaks nothing, not even with an agent restart, and the API counts again when it is back", async () => {
    const began = Date.now();
    const { plane } = lab().lab.api;
    if (!plane) throw new Error("the lab has a real API server");
    const turns = lab().addressHistory.turns.length;
    await plane.server.kill();
    const back = sleep(OUTAGE_MS);
    const holder = lab().holder();
    await restart(holder);
    await lab().eventually("the new agent refreshes the address", async () => {
      const seconds = await secondsToLive(holder);
      return seconds > 0 && seconds <= REFRESHED_S;
    });
    await back;
    await plane.server.restart();
    await lab().apply(`
apiVersion: v1
kind: Service
metadata: { name: late, namespace: default }
spec: { type: LoadBalancer, selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
`);
    await lab().eventually("a new service is announced", async () => {
      const [address] = lab().service("late").addresses;
      return address !== undefined && (await lab().towards(address)).length === NODES.length;
    });
    await lab().delete(Service, "late", "default");
    expect(lab().addressHistory.turns.slice(turns)).toEqual([]);
    expect(await lost(began)).toEqual([]);
  });
}

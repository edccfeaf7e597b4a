import { afterEach, beforeAll, expect, test } from "vitest";
import { type NodeName, SEGMENTS } from "../../../lab/net/topology.ts";
import { Event } from "../../../src/api/core/event.ts";
import { AGENT_PROCESS } from "../../../lab/cli/agents.ts";
import type { Traffic } from "../../../lab/cli/traffic.ts";
import { EVENTUALLY, type TestLab } from "../../support/router-lab.ts";

const [shop, stock] = SEGMENTS as unknown as [(typeof SEGMENTS)[number], (typeof SEGMENTS)[number]];

/** What breaks around a router, and that it comes back. */
export function faultTests(lab: () => TestLab): void {
  let traffic: Traffic[] = [];

  beforeAll(async () => {
    await lab().clear();
    for (const file of ["underlay.yaml", "red.yaml"]) await lab().applyExample(file);
    await lab().ready();
  });

  async function startTraffic(): Promise<void> {
    traffic = [
      await lab().traffic({ segment: shop, node: "node1" }, { segment: shop, node: "node2" }),
      await lab().traffic({ segment: shop, node: "node1" }, { segment: stock, node: "node2" }),
    ];
  }
  afterEach(async () => {
    for (const one of traffic) await one.stop();
    traffic = [];
  });

  /** That these pings pass again, those of before aside. */
  async function expectPassing(): Promise<void> {
    for (const one of traffic) {
      const before = one.answered;
      await expect.poll(() => one.answered, EVENTUALLY).toBeGreaterThan(before + 5);
    }
  }

  const events = async () =>
    (
      await lab()
        .client.resource(Event)
        .list({ signal: AbortSignal.timeout(10_000) })
    ).items;
  const established = (node: NodeName) => () => lab().condition(node, "SessionsEstablished");

  test("a killed agent loses no ping, and the next one adopts the router without a session reset", async () => {
    await startTraffic();
    const since = async () =>
      (await lab().show<Record<string, { bgpTimerUpEstablishedEpoch?: number }>>("node1", "show bgp neighbors json"))["192.168.11.2"];
    const before = await since();
    await lab().fault("agent-killed", "node1");
    await expect.poll(() => lab().exec("node1", "pgrep", "-f", AGENT_PROCESS), EVENTUALLY).toMatchObject({ code: 0 });
    await lab().apply("kind: L2VNI\nmetadata: { name: later }\nspec: { vrf: later, vni: 501 }\n");
    await expect.poll(async () => (await lab().exec("node1", "ip", "-n", "perouter", "link", "show", "vni501")).code, EVENTUALLY).toBe(0);
    expect(Math.abs(((await since())?.bgpTimerUpEstablishedEpoch ?? 0) - (before?.bgpTimerUpEstablishedEpoch ?? 0))).toBeLessThan(3);
    await lab().delete("L2VNI", "later");
    expect(await lab().lost(traffic)).toEqual([0, 0]);
  });

  test("a link that goes down is in the status, and traffic recovers with it", async () => {
    await startTraffic();
    await lab().fault("link-down", "node1");
    await expect.poll(established("node1"), EVENTUALLY).toBe("False");
    expect(await lab().condition("node1", "Ready")).toBe("True");
    await lab().fault("link-down", "node1", "fix");
    await expect.poll(established("node1"), EVENTUALLY).toBe("True");
    await expectPassing();
  });

  test("a session that the ToR shuts down is in the status until it is back", async () => {
    await lab().fault("session-cut", "node2");
    await expect.poll(established("node2"), EVENTUALLY).toBe("False");
    await lab().fault("session-cut", "node2", "fix");
    await expect.poll(established("node2"), EVENTUALLY).toBe("True");
  });

  test("a killed zebra is restarted without losing a ping", async () => {
    await startTraffic();
    await lab().fault("zebra-killed", "node1");
    await expect.poll(() => lab().exec("node1", "pgrep", "-f", "/zebra .*plumbline-router"), EVENTUALLY).toMatchObject({ code: 0 });
    await lab().ready(["node1"]);
    await expectPassing();
    expect(await lab().lost(traffic)).toEqual([0, 0]);
  });

  test.each(["bgpd-killed", "frr-killed", "frr-restarted"])("after %s the router is restored", async (fault) => {
    await startTraffic();
    await lab().fault(fault, "node1");
    await expect.poll(() => lab().exec("node1", "pgrep", "-f", "/bgpd .*plumbline-router"), EVENTUALLY).toMatchObject({ code: 0 });
    await lab().ready(["node1"]);
    await expectPassing();
  });

  test("a suspended FRR makes the node not Ready until it resumes", async () => {
    await lab().fault("frr-frozen", "node3");
    await expect.poll(() => lab().condition("node3", "Ready"), EVENTUALLY).toBe("False");
    const ready = (await lab().status("node3"))?.conditions?.find(({ type }) => type === "Ready");
    expect(ready?.reason).toBe("RouterUnavailable");
    await lab().fault("frr-frozen", "node3", "fix");
    await lab().ready(["node3"]);
  });

  test.each([
    ["bridge-deleted", ["ip", "-n", "perouter", "link", "show", "br-pe-110"], ""],
    ["address-flushed", ["ip", "-n", "perouter", "address", "show", "dev", "br-pe-110"], "10.110.0.1/24"],
  ] as const)("after %s the change is reverted with an Event", async (fault, command, text) => {
    await startTraffic();
    await lab().fault(fault, "node1");
    await expect
      .poll(() => lab().exec("node1", ...command), EVENTUALLY)
      .toMatchObject({ code: 0, stdout: expect.stringContaining(text) as string });
    await expectPassing();
    await expect.poll(events, EVENTUALLY).toContainEqual(expect.objectContaining({ reason: "DriftRepaired" }));
  });

  test("a line that is typed into vtysh is removed with an Event that quotes it", async () => {
    await lab().fault("config-typed", "node1");
    const running = async () => (await lab().exec("node1", "vtysh", "-N", "plumbline-router", "-c", "show running-config")).stdout;
    await expect.poll(running, EVENTUALLY).not.toContain("203.0.113.9");
    const message = expect.stringMatching(/^Node node1: Removed FRR lines that no resource configures: .*203\.0\.113\.9/) as string;
    await expect.poll(events, EVENTUALLY).toContainEqual(expect.objectContaining({ reason: "DriftRepaired", message }));
  });

  test("a suspended agent becomes Unknown, and corrects its status when it resumes", async () => {
    await lab().fault("agent-frozen", "node2");
    await expect.poll(() => lab().condition("node2", "Ready"), EVENTUALLY).toBe("Unknown");
    await lab().fault("agent-frozen", "node2", "fix");
    await expect.poll(() => lab().condition("node2", "Ready"), EVENTUALLY).toBe("True");
  });
}

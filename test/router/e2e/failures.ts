import { afterAll, beforeAll, expect, test } from "vitest";
import { SEGMENTS } from "../../../lab/net/topology.ts";
import { AGENT_PROCESS } from "../../../lab/cli/agents.ts";
import type { Traffic } from "../../../lab/cli/traffic.ts";
import { EVENTUALLY, type TestLab } from "../../support/router-lab.ts";
import { NODES } from "../../support/nodes.ts";

const [shop, stock] = SEGMENTS as unknown as [(typeof SEGMENTS)[number], (typeof SEGMENTS)[number]];

const l3vni = (name: string, spec: string) => `kind: L3VNI\nmetadata: { name: ${name} }\nspec: ${spec}\n`;

const l2vni = (name: string, spec: string) => `kind: L2VNI\nmetadata: { name: ${name} }\nspec: ${spec}\n`;

const SESSION = "hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: 192.169.20.0/24 } }";

const NONE = [0, 0, 0];

function underlay(nic: string): string {
  return `
kind: Underlay
metadata: { name: underlay }
spec:
  asn: 64514
  nics: [${nic}]
  neighbors: [{ asn: 64512, address: 192.168.11.2, holdTime: 9s, keepaliveTime: 3s, connectTime: 2s }]
  evpn: { vtepcidr: 100.65.0.0/24 }
`;
}

/** The failures of the specification, with pings of what is good: not one may be lost. */
export function failureTests(lab: () => TestLab): void {
  /** Of the resources that are good all along; whatever else fails must not cost a single one. */
  let traffic: Traffic[] = [];

  beforeAll(async () => {
    await lab().clear();
    for (const file of ["underlay.yaml", "red.yaml"]) await lab().applyExample(file);
    await lab().ready();
    traffic = [
      await lab().traffic({ segment: shop, node: "node1" }, { segment: shop, node: "node2" }),
      await lab().traffic({ segment: stock, node: "node2" }, { segment: stock, node: "node3" }),
      await lab().traffic({ segment: shop, node: "node1" }, { segment: stock, node: "node3" }),
    ];
  });
  afterAll(async () => {
    for (const one of traffic) await one.stop();
  });

  const failuresOf = (node: (typeof NODES)[number]) => async () =>
    (await lab().failures(node)).map(({ kind, name, reason, message }) => `${kind} ${name} ${reason}: ${message ?? ""}`);

  /** On every node: these failures, and Ready and Degraded to match. */
  async function expectEverywhere(failures: readonly string[]): Promise<void> {
    for (const node of NODES) {
      await expect.poll(failuresOf(node), EVENTUALLY).toEqual(failures);
      const [ready, degraded] = failures.length === 0 ? ["True", "False"] : ["False", "True"];
      expect(await lab().condition(node, "Ready")).toBe(ready);
      expect(await lab().condition(node, "Degraded")).toBe(degraded);
    }
  }

  test("a VNI of another resource fails alone and names the owner, and an edit clears the failure", async () => {
    await lab().apply(l3vni("clash", `{ vrf: clash, vni: 110, ${SESSION} }`));
    await expectEverywhere(["L3VNI clash ValidationFailed: VNI 110 conflicts with L2VNI shop"]);
    await lab().apply(l3vni("clash", `{ vrf: clash, vni: 410, ${SESSION} }`));
    await expectEverywhere([]);
    await lab().delete("L3VNI", "clash");
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("an L3VNI without L2VNI and HostSession fails until its VRF has an L2VNI", async () => {
    await lab().apply(l3vni("lonely", "{ vrf: lonely, vni: 420 }"));
    await expectEverywhere(["L3VNI lonely DependencyFailed: No healthy L2VNI exists for VRF 'lonely'"]);
    await lab().apply(l2vni("company", "{ vrf: lonely, vni: 421 }"));
    await expectEverywhere([]);
    await lab().delete("L2VNI", "company");
    await expectEverywhere(["L3VNI lonely DependencyFailed: No healthy L2VNI exists for VRF 'lonely'"]);
    await lab().delete("L3VNI", "lonely");
    await expectEverywhere([]);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("three resources fail as in the specification, each with its own reason, and valid ones are live", async () => {
    await lab().apply(
      l2vni("tenant-network-a", "{ vrf: tenant, vni: 431, hostmaster: { type: linux-bridge, linuxBridge: { name: eth2 } } }"),
    );
    await lab().apply(l2vni("tenant-network-b", "{ vrf: tenant, vni: 100 }"));
    await lab().apply(l3vni("tenant-l3", "{ vrf: tenant, vni: 432 }"));
    await lab().apply(l2vni("good", "{ vrf: good, vni: 433 }"));
    await expectEverywhere([
      "L2VNI tenant-network-a ValidationFailed: Interface eth2 not present on node",
      "L2VNI tenant-network-b ValidationFailed: VNI 100 conflicts with L3VNI red",
      "L3VNI tenant-l3 DependencyFailed: No healthy L2VNI exists for VRF 'tenant'",
    ]);
    const ready = (await lab().status("node1"))?.conditions?.find(({ type }) => type === "Ready");
    expect(ready).toMatchObject({ reason: "ConfigurationFailed", message: "3 resources failed, other resources applied successfully" });
    expect((await lab().exec("node1", "ip", "-n", "perouter", "link", "show", "vni433")).code).toBe(0);
    for (const name of ["tenant-network-a", "tenant-network-b", "good"]) await lab().delete("L2VNI", name);
    await lab().delete("L3VNI", "tenant-l3");
    await expectEverywhere([]);
    await expect
      .poll(async () => (await lab().exec("node1", "ip", "-n", "perouter", "link", "show", "vni433")).code, EVENTUALLY)
      .not.toBe(0);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("an Underlay with a missing interface changes nothing, and recovers when it is fixed", async () => {
    await lab().apply(underlay("eth9"));
    await expectEverywhere(["Underlay underlay ValidationFailed: Interface eth9 not present on node"]);
    const ready = (await lab().status("node1"))?.conditions?.find(({ type }) => type === "Ready");
    expect(ready).toMatchObject({ reason: "UnderlayFailed", message: "Underlay failed validation, existing FRR configuration left as-is" });
    await lab().apply(underlay("eth1"));
    await expectEverywhere([]);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("the interface with the node's address is rejected", async () => {
    await lab().apply(`
kind: Underlay
metadata: { name: thief }
spec:
  asn: 64514
  nics: [eth0]
  neighbors: [{ asn: 64512, address: 192.168.11.2 }]
  evpn: { vtepcidr: 100.66.0.0/24 }
`);
    for (const node of NODES) {
      await expect.poll(failuresOf(node), EVENTUALLY).toContainEqual(expect.stringMatching(/^Underlay thief ValidationFailed: /));
      expect((await lab().exec(node, "ip", "link", "show", "eth0")).code).toBe(0);
    }
    await lab().delete("Underlay", "thief");
    await expectEverywhere([]);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("an old object that is edited onto the VNI of a newer, applied one loses, and both stay live", async () => {
    const states = async () => {
      const every = NODES.map(async (node) => `${await lab().state(node, "L2VNI", "older")} ${await lab().state(node, "L2VNI", "newer")}`);
      return [...new Set(await Promise.all(every))];
    };
    await lab().apply(l2vni("older", "{ vrf: older, vni: 441 }"));
    await lab().apply(l2vni("newer", "{ vrf: newer, vni: 442 }"));
    await expect.poll(states, EVENTUALLY).toEqual(["Applied Applied"]);
    await lab().apply(l2vni("older", "{ vrf: older, vni: 442 }"));
    await expect.poll(states, EVENTUALLY).toEqual(["KeptPrevious Applied"]);
    await expectEverywhere(["L2VNI older ValidationFailed: VNI 442 conflicts with L2VNI newer"]);
    for (const vni of [441, 442]) expect((await lab().exec("node1", "ip", "-n", "perouter", "link", "show", `vni${vni}`)).code).toBe(0);
    await lab().delete("L2VNI", "older");
    await lab().delete("L2VNI", "newer");
    await expectEverywhere([]);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("a subnet that overlaps within a VRF fails alone", async () => {
    await lab().apply(l2vni("overlap", "{ vrf: red, vni: 451, l2gatewayips: [10.110.0.129/25] }"));
    for (const node of NODES) {
      await expect.poll(failuresOf(node), EVENTUALLY).toEqual([expect.stringMatching(/^L2VNI overlap ValidationFailed: .*L2VNI shop/)]);
    }
    await lab().delete("L2VNI", "overlap");
    await expectEverywhere([]);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("a resource that FRR rejects has FRR's message and affects no other resource", async () => {
    await lab().apply('kind: RawFRRConfig\nmetadata: { name: nonsense }\nspec: { rawConfig: "router ospf please" }\n');
    for (const node of NODES) {
      await expect.poll(failuresOf(node), EVENTUALLY).toEqual([expect.stringMatching(/^RawFRRConfig nonsense ApplicationFailed: /)]);
    }
    await lab().delete("RawFRRConfig", "nonsense");
    await expectEverywhere([]);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("an invalid route target, one that another VRF exports, and one that it imports each fail their L3VNI, and no route leaks", async () => {
    await lab().apply(l3vni("garbled", `{ vrf: garbled, vni: 461, exportRTs: ["64514:x"], ${SESSION} }`));
    await lab().apply(l3vni("greedy", `{ vrf: greedy, vni: 462, exportRTs: ["64514:100"], ${SESSION.replace("20.0", "21.0")} }`));
    await lab().apply(l3vni("leaking", `{ vrf: leaking, vni: 463, exportRTs: ["65000:100"], ${SESSION.replace("20.0", "22.0")} }`));
    for (const node of NODES) {
      await expect
        .poll(failuresOf(node), EVENTUALLY)
        .toEqual([
          expect.stringMatching(/^L3VNI garbled ValidationFailed: .*64514:x/),
          expect.stringMatching(/^L3VNI greedy ValidationFailed: .*64514:100 .*L3VNI red/),
          expect.stringMatching(/^L3VNI leaking ValidationFailed: Route target 65000:100, .*L3VNI red/),
        ]);
    }
    for (const node of NODES) {
      const { routes = {} } = await lab().show<{ routes?: object }>(node, "show bgp vrf red ipv4 unicast json");
      expect(Object.keys(routes)).toContain("10.110.0.0/24");
      expect(Object.keys(routes).filter((prefix) => prefix.startsWith("192.169.2"))).toEqual([]);
    }
    for (const name of ["garbled", "greedy", "leaking"]) await lab().delete("L3VNI", name);
    await expectEverywhere([]);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("the second L2VNI of a VRF supports its L3VNI if the first fails", async () => {
    await lab().apply(l2vni("first", "{ vrf: pair, vni: 471, hostmaster: { type: linux-bridge, linuxBridge: { name: br-none } } }"));
    await lab().apply(l2vni("second", "{ vrf: pair, vni: 472 }"));
    await lab().apply(l3vni("pair", "{ vrf: pair, vni: 473 }"));
    await expect.poll(() => lab().state("node1", "L3VNI", "pair"), EVENTUALLY).toBe("Applied");
    await expectEverywhere(["L2VNI first ValidationFailed: Interface br-none not present on node"]);
    for (const name of ["first", "second"]) await lab().delete("L2VNI", name);
    await lab().delete("L3VNI", "pair");
    await expectEverywhere([]);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("a resource fails only on the nodes that it selects", async () => {
    const select = "nodeSelector: { matchLabels: { kubernetes.io/hostname: node3 } }";
    await lab().apply(l2vni("elsewhere", `{ vrf: elsewhere, vni: 100, ${select} }`));
    await expect.poll(failuresOf("node3"), EVENTUALLY).toEqual(["L2VNI elsewhere ValidationFailed: VNI 100 conflicts with L3VNI red"]);
    expect(await lab().failures("node1")).toEqual([]);
    expect(await lab().condition("node1", "Ready")).toBe("True");
    await lab().delete("L2VNI", "elsewhere");
    await expectEverywhere([]);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("a kept last good version survives an agent restart", async () => {
    await lab().apply(l2vni("kept", "{ vrf: kept, vni: 481 }"));
    await expect.poll(() => lab().state("node1", "L2VNI", "kept"), EVENTUALLY).toBe("Applied");
    await lab().apply(l2vni("kept", "{ vrf: kept, vni: 100 }"));
    await expect.poll(() => lab().state("node1", "L2VNI", "kept"), EVENTUALLY).toBe("KeptPrevious");
    const pid = async () => (await lab().exec("node1", "pgrep", "-f", AGENT_PROCESS)).stdout.trim();
    const before = await pid();
    await lab().fault("agent-killed", "node1");
    await expect.poll(async () => ["", before].includes(await pid()), EVENTUALLY).toBe(false);
    // Something new shows that the new agent is at work.
    await lab().apply(l2vni("sign", "{ vrf: sign, vni: 482 }"));
    await expect.poll(() => lab().state("node1", "L2VNI", "sign"), EVENTUALLY).toBe("Applied");
    expect(await lab().state("node1", "L2VNI", "kept")).toBe("KeptPrevious");
    expect((await lab().exec("node1", "ip", "-n", "perouter", "link", "show", "vni481")).code).toBe(0);
    await lab().delete("L2VNI", "kept");
    await lab().delete("L2VNI", "sign");
    await expectEverywhere([]);
    await expect
      .poll(async () => (await lab().exec("node1", "ip", "-n", "perouter", "link", "show", "vni481")).code, EVENTUALLY)
      .not.toBe(0);
    expect(await lab().lost(traffic)).toEqual(NONE);
  });

  test("recreates a deleted status", async () => {
    for (const node of NODES) await lab().delete("RouterNodeConfigurationStatus", node);
    for (const node of NODES) await expect.poll(() => lab().condition(node, "Ready"), EVENTUALLY).toBe("True");
    expect(await lab().lost(traffic)).toEqual(NONE);
  });
}

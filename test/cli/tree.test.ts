import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { L2VNI } from "../../src/api/openpe/l2vni.ts";
import { L3VNI } from "../../src/api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../src/api/openpe/underlay.ts";
import { SERVERS, type CommandLineServer } from "../support/servers.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const namespace = "openperouter-system";
type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;

function resources(l2vni: "Applied" | "KeptPrevious"): NonNullable<Status["resources"]> {
  return [
    { kind: "Underlay", name: "fabric", generation: 1, state: "Applied" },
    { kind: "L2VNI", name: "web", generation: 1, state: l2vni },
    { kind: "L3VNI", name: "red", generation: 1, state: "Applied" },
  ];
}

describe.each(SERVERS)("on %s", (_name, start) => {
  let server: CommandLineServer;
  beforeAll(async () => {
    server = await start("cli-tree");
    const { client } = server;
    await client.resource(Underlay).create(
      {
        metadata: { name: "fabric", namespace },
        spec: {
          asn: 64514,
          routeridcidr: "10.0.0.0/24",
          nics: ["eth1"],
          neighbors: [{ asn: 1, address: "192.0.2.2" }],
          evpn: { vtepcidr: "100.65.0.0/24" },
        },
      },
      { signal },
    );
    await client
      .resource(L2VNI)
      .create({ metadata: { name: "web", namespace }, spec: { vrf: "red", vni: 110, vxlanport: 4789 } }, { signal });
    await client
      .resource(L3VNI)
      .create({ metadata: { name: "red", namespace }, spec: { vrf: "red", vni: 200, vxlanport: 4789 } }, { signal });
  });
  afterAll(() => server.stop());

  async function report(node: string, status: Status): Promise<void> {
    const reports = server.client.resource(RouterNodeConfigurationStatus);
    const { metadata } = await reports.create({ metadata: { name: node, namespace } }, { signal });
    await reports.patchStatus(metadata, { status }, { signal });
  }

  test("tree says that no node has reported, and then has the state of each node", async () => {
    expect(await server.plumbline("tree")).toMatchObject({
      code: 1,
      stderr: `plumbline: No node has reported in namespace ${namespace}: check --router-namespace and the agents\n`,
    });

    await report("n1", { resources: resources("Applied") });
    await report("n2", {
      resources: resources("KeptPrevious"),
      failedResources: [{ kind: "L2VNI", name: "web", reason: "ValidationFailed", message: "Interface br0 not present on node" }],
    });
    const n1 = `n1
└─ Underlay fabric (EVPN) Applied
   └─ L2VNI web (VRF: red) Applied
      └─ L3VNI red (VRF: red) Applied
`;
    expect(await server.plumbline("tree", "--node", "n1")).toEqual({ code: 0, stdout: n1, stderr: "" });
    expect(await server.plumbline("tree")).toEqual({
      code: 1,
      stdout: `${n1}
n2
└─ Underlay fabric (EVPN) Applied
   └─ L2VNI web (VRF: red) KeptPrevious [!! ERROR] ValidationFailed: Interface br0 not present on node
      └─ L3VNI red (VRF: red) Applied
`,
      stderr: "",
    });
    expect(await server.plumbline("tree", "--node", "n9")).toMatchObject({
      code: 1,
      stderr: "plumbline: Node n9 not found\n",
    });
  });
});

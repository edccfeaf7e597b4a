import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { L2VNI } from "../../src/api/openpe/l2vni.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import type { Condition } from "../../src/api/kind.ts";
import { SERVERS, type CommandLineServer } from "../support/servers.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const namespace = "openperouter-system";
const at = "2026-01-01T00:00:00Z";
type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;

const READY: Condition[] = [{ type: "Ready", status: "True", reason: "ConfigurationSuccessful", message: "", lastTransitionTime: at }];

const WELL = {
  conditions: READY,
  resources: [{ kind: "L2VNI", name: "shop", generation: 1, state: "Applied" }],
  sessions: [{ vrf: "default", neighbor: "192.0.2.2", state: "Established", since: at }],
  links: [{ name: "eth1", state: "Up", since: at }],
} satisfies Status;

const CUT = {
  ...WELL,
  sessions: [{ vrf: "default", neighbor: "192.0.2.2", state: "Active", since: at }],
  links: [{ name: "eth1", state: "NoCarrier", since: at }],
} satisfies Status;

describe.each(SERVERS)("on %s", (_name, start) => {
  let server: CommandLineServer;
  beforeAll(async () => {
    server = await start("cli-why");
    await server.client
      .resource(L2VNI)
      .create({ metadata: { name: "shop", namespace }, spec: { vrf: "red", vni: 110, vxlanport: 4789 } }, { signal });
    await server.client.resource(RouterNodeConfigurationStatus).create({ metadata: { name: "n1", namespace } }, { signal });
  });
  afterAll(() => server.stop());

  async function report(status: Status): Promise<void> {
    const reports = server.client.resource(RouterNodeConfigurationStatus);
    const { metadata } = await reports.get("n1", { namespace, signal });
    await reports.patchStatus(metadata, { status }, { signal });
  }

  test("on a healthy cluster why and status say so and exit with 0", async () => {
    await report(WELL);
    expect(await server.plumbline("why")).toMatchObject({ code: 0, stdout: "No problems found.\n", stderr: "" });
    const status = await server.plumbline("status");
    expect(status).toMatchObject({ code: 0, stderr: "" });
    expect(status.stdout).toContain("n1     Healthy");
    expect(await server.plumbline("why", "l2vni/shop")).toMatchObject({ code: 0, stdout: `L2VNI ${namespace}/shop is healthy\n` });
  });

  test("a link that is down is the cause for its dependents, with a fix, until it is up", async () => {
    await report(CUT);
    const all = await server.plumbline("why");
    expect(all.code).toBe(1);
    expect(all.stdout).toMatch(/^n1: link eth1 is down \(no carrier\) for \S+\n {2}→ /);
    expect(all.stdout).toContain("  → n1: session 192.0.2.2 is down for ");
    expect(all.stdout).toMatch(/ {2}Fix: {4}check the cable.*\n {2}Run: {4}ip netns exec perouter ip link show eth1\n$/);

    const node = await server.plumbline("why", "node/n1");
    expect(node.code).toBe(1);
    expect(node.stdout).toContain("Cause:  link eth1 on n1");

    const json = await server.plumbline("why", "node/n1", "-o", "json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      apiVersion: "plumbline.dev/cli/v1",
      kind: "Answers",
      items: [{ path: { id: "Node/n1", health: "Degraded", cause: false }, causes: [{ id: "Link/eth1@n1", since: at }] }],
    });
    const status = await server.plumbline("status", "-o", "json");
    expect(status.code).toBe(1);
    expect(JSON.parse(status.stdout)).toMatchObject({
      items: [{ nodes: [{ node: "n1", domains: { router: "Down" } }], causes: [{ id: "Link/eth1@n1" }] }],
    });

    await report(WELL);
    expect((await server.plumbline("why")).stdout).toBe("No problems found.\n");
  });

  test("an unknown component is answered with the known ones", async () => {
    expect(await server.plumbline("why", "l2vni/shp")).toMatchObject({
      code: 1,
      stderr: "plumbline: l2vni/shp not found; did you mean shop?\n",
    });
    expect(await server.plumbline("why", "shop")).toMatchObject({ code: 2 });
  });
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Event } from "../../src/api/core/event.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { L3VNI } from "../../src/api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { SERVERS, type CommandLineServer } from "../support/servers.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const namespace = "openperouter-system";

describe.each(SERVERS)("on %s", (_name, start) => {
  let server: CommandLineServer;
  beforeAll(async () => {
    server = await start("cli-describe");
  });
  afterAll(() => server.stop());

  test("an object is described with its conditions and only its own events", async () => {
    const reports = server.client.resource(RouterNodeConfigurationStatus);
    const { metadata } = await reports.create({ metadata: { name: "n1", namespace, labels: { rack: "a" } } }, { signal });
    const minuteAgo = new Date(Date.now() - 62_000).toISOString();
    const condition = {
      type: "Ready",
      status: "False",
      reason: "ConfigurationFailed",
      message: "VNI 100 is held",
      lastTransitionTime: minuteAgo,
    } as const;
    await reports.patchStatus(metadata, { status: { conditions: [condition] } }, { signal });
    const about = { apiVersion: "openpe.openperouter.github.io/v1alpha1", kind: "RouterNodeConfigurationStatus", name: "n1", namespace };
    const event = { type: "Warning" as const, reason: "Refused", message: "because", source: { component: "agent" } };
    const events = server.client.resource(Event);
    const times = { firstTimestamp: minuteAgo, lastTimestamp: minuteAgo, count: 1 };
    await events.create(
      { metadata: { name: "a", namespace }, involvedObject: { ...about, uid: metadata.uid ?? "" }, ...event, ...times },
      { signal },
    );
    await events.create(
      { metadata: { name: "b", namespace }, involvedObject: { ...about, name: "n2" }, ...event, reason: "Other", ...times },
      { signal },
    );

    const { code, stdout, stderr } = await server.plumbline("describe", "rncs", "n1", "-n", namespace);
    expect({ code, stderr, text: stdout.replaceAll(/\d{4}-\S+Z \(\d+s ago\)/g, "…").replaceAll(/\b(6|7|8|9)\ds\b/g, "62s") }).toEqual({
      code: 0,
      stderr: "",
      text: `Name:        n1
Namespace:   openperouter-system
Kind:        RouterNodeConfigurationStatus (openpe.openperouter.github.io/v1alpha1)
Labels:      rack=a
Created:     …
Generation:  1

Conditions:
  TYPE    STATUS   REASON                SINCE   MESSAGE
  Ready   False    ConfigurationFailed   62s     VNI 100 is held

Events:
  TYPE      REASON    AGE   FROM    MESSAGE
  Warning   Refused   62s   agent   because
`,
    });
  });

  test("all objects of a kind are described, and a missing one is an error", async () => {
    for (const name of ["red", "blue"]) {
      await server.client
        .resource(L3VNI)
        .create({ metadata: { name, namespace }, spec: { vrf: name, vni: name.length, vxlanport: 4789 } }, { signal });
    }
    const { code, stdout } = await server.plumbline("describe", "l3vni", "-A");
    expect({ code, names: stdout.match(/^Name: .*$/gm) }).toEqual({ code: 0, names: ["Name:        blue", "Name:        red"] });
    expect(await server.plumbline("describe", "l3vni", "rad", "-n", namespace)).toEqual({
      code: 1,
      stdout: "",
      stderr: "plumbline: L3VNI rad not found in namespace openperouter-system (Did you mean red?)\n",
    });
  });

  test("values of a Secret are not shown", async () => {
    const data = { password: Buffer.from("geheim").toString("base64") };
    await server.client.resource(Secret).create({ metadata: { name: "s", namespace }, data }, { signal });
    const { stdout } = await server.plumbline("describe", "secret", "s", "-n", namespace);
    expect(stdout).toContain("Data:\n  password: 6 bytes\n");
    expect(stdout).not.toContain(data.password);
  });
});

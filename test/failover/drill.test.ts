import { afterAll, beforeAll, expect, test } from "vitest";
import { CronJob } from "../../src/api/core/cron-job.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { type CommandLineServer, realServer } from "../support/servers.ts";

const { signal } = new AbortController();
const namespace = "shop";
let cluster: CommandLineServer;

beforeAll(async () => {
  cluster = await realServer("failover-drill");
  await cluster.client.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
});
afterAll(() => cluster.stop());

/** The kinds' types have the fields that we read, a manifest has all. */
const create = (kind: Kind, name: string, spec: object) =>
  cluster.client.resource(kind).create({ metadata: { name, namespace }, spec } as KubeObject, { signal });
const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { terminationGracePeriodSeconds: 5, restartPolicy: "Never", containers: [{ name: "main", image: "registry.example/main" }] },
});
const versions = async () => {
  const lists = await Promise.all(
    [FailoverPolicy, Deployment, CronJob].map((kind: Kind) => cluster.client.resource(kind).list({ namespace, signal })),
  );
  return lists.flatMap(({ items }) => items.map(({ metadata: { name, resourceVersion } }) => `${name} ${resourceVersion}`));
};

test("a drill copies a policy from a cluster, switches it there and back, prints the times, and leaves the cluster unchanged", async () => {
  const pod = template("web");
  const running = { ...pod, spec: { ...pod.spec, restartPolicy: "Always" } };
  await create(Deployment, "web", { replicas: 2, selector: { matchLabels: { app: "web" } }, template: running });
  await create(CronJob, "report", { schedule: "0 3 * * *", jobTemplate: { spec: { template: template("report") } } });
  const managedResources = ["Deployment web", "CronJob report", "VirtualService gone"].map((text) => {
    const [kind, name] = text.split(" ");
    return { kind, name };
  });
  await create(FailoverPolicy, "web", { desiredState: "secondary", managedResources, peer: { kubeconfigSecret: { name: "other" } } });
  const before = await versions();

  const { code, stdout, stderr } = await cluster.plumbline("failover", "drill", "web", "-n", namespace, "--timeout", "3m");
  expect(stderr).toContain("Warning: VirtualService shop/gone does not exist; left out\n");
  const table = stdout.slice(stdout.indexOf("\nSITE ") + 1).split("\n");
  expect({ code, table: table.map((line) => line.split(/ {2,}/).slice(0, 2).join(" ")) }).toEqual({
    code: 0,
    table: ["SITE TO", "east secondary", "west primary", "west secondary", "east primary", ""],
  });
  expect(table[1]).toMatch(/^east +secondary +\d+s +AwaitTermination \d+s +Pod shop\/web-\S+, \d+s$/);
  expect(await versions()).toEqual(before);

  const late = await cluster.plumbline("failover", "drill", "web", "-n", namespace, "--timeout", "1s", "-o", "json");
  expect({ code: late.code, answer: JSON.parse(late.stdout) as unknown }).toEqual({
    code: 1,
    answer: {
      apiVersion: "plumbline.dev/cli/v1",
      kind: "FailoverDrillMove",
      items: [
        { site: "east", to: "secondary", state: "failed", message: expect.stringMatching(/^AwaitTermination waits: Pod shop\/web-/) },
      ],
    },
  });
  expect(late.stderr).toContain("plumbline: east is not secondary: AwaitTermination waits: ");
});

test("a drill fails for a missing policy and for a policy whose resources do not exist", async () => {
  expect(await cluster.plumbline("failover", "drill", "wbe", "-n", namespace)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("FailoverPolicy wbe not found in namespace shop"),
  });
  await create(FailoverPolicy, "hollow", { desiredState: "primary", managedResources: [{ kind: "Deployment", name: "nowhere" }] });
  expect(await cluster.plumbline("failover", "drill", "hollow", "-n", namespace)).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "Warning: Deployment shop/nowhere does not exist; left out\nplumbline: No object that FailoverPolicy shop/hollow manages exists\n",
  });
});

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { AGENT_PROCESS } from "../../lab/cli/agents.ts";
import { labManifests, type RouterLab, startRouterLab } from "../../lab/cli/router-lab.ts";
import { StatusReader } from "../../lab/drill/status-reader.ts";
import { silent } from "../../lab/progress.ts";
import { Node } from "../../src/api/core/node.ts";
import { createLog } from "../../src/kube/log.ts";

// What is planned raises no alarm. Only with `npm run soak`: on a machine that is too slow a restart takes as long as a failure.

vi.setConfig({ testTimeout: 900_000, hookTimeout: 600_000 });

const PATIENCE = { timeout: 300_000, interval: 200 };
const READ_EVERY_MS = 100;
/** Longer than an observation counts, so that what is not observed again is seen to be unknown. */
const WATCHED_MS = 40_000;
const NODES = ["node1", "node2", "node3"];
const EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers";
/**
 * A new owner of a layer 2 address probes for it first, which is what the status says. Nodes check the port of each other's agent, and while that restarts it is
 * closed.
 */
const EXPECTED =
  /^ServiceL2Status .* Probing|^why: Service\/\S+ Probing|-to-node\d-8081-|^why: Target\/\S+:8081 |Reachable=Unknown (?:Stale|Retired)$/;

const ended = new AbortController();
const { signal } = ended;
let lab: RouterLab;
let reader: StatusReader;

const wrong = () => [
  ...reader.statements().flatMap(({ well, once, text }) => (well || once !== undefined ? [] : [text])),
  ...reader.causes().map(({ id, reason = "", message = "" }) => `why: ${id} ${reason} ${message}`),
];
const alarms = () => wrong().filter((text) => !EXPECTED.test(text));

beforeAll(async () => {
  lab = await startRouterLab({
    manifests: (has) => labManifests({ kube: false, checks: true, ...has }),
    standIns: true,
    checkInterval: "3s",
    log: createLog({ level: "error" }),
    progress: silent,
    signal,
  });
  reader = new StatusReader(lab.api.client);
  await reader.open(signal);
  await vi.waitUntil(() => wrong().length === 0, PATIENCE);
});
afterAll(async () => {
  ended.abort();
  await lab.stop();
});

/** All alarms from the change until it is long over, and that none is left. */
async function alarmsDuring(change: () => Promise<unknown>): Promise<string[]> {
  const raised = new Set<string>();
  const watched = AbortSignal.timeout(WATCHED_MS);
  await change();
  while (!watched.aborted || alarms().length > 0) {
    for (const text of alarms()) raised.add(text);
    await sleep(READ_EVERY_MS, undefined, { signal });
  }
  return [...raised];
}

const label = (name: string, value: string | null) =>
  lab.api.client.resource(Node).patch({ name }, { metadata: { labels: { [EXCLUDED]: value } } }, { signal });

test("nothing at all", async () => {
  expect(await alarmsDuring(() => Promise.resolve())).toEqual([]);
});

test.each(NODES)("the agent of %s restarts", async (node) => {
  expect(await alarmsDuring(() => lab.host(node).do(["pkill", "-TERM", "-f", AGENT_PROCESS]))).toEqual([]);
});

test("the controller restarts", async () => {
  expect(await alarmsDuring(() => lab.restartController())).toEqual([]);
});

test.each(NODES)("%s is excluded from load balancing, and included again", async (node) => {
  expect(await alarmsDuring(() => label(node, ""))).toEqual([]);
  expect(await alarmsDuring(() => label(node, null))).toEqual([]);
});

async function leave(): Promise<void> {
  await lab.agents.get("node3")?.stop();
  await lab.api.client.resource(Node).delete({ name: "node3" }, { signal });
}

test("a node leaves", async () => {
  expect(await alarmsDuring(leave)).toEqual([]);
});

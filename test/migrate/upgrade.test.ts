import * as fc from "fast-check";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { accessAs, installIdentities } from "../../lab/kube/identities.ts";
import { applyCrds, installCrds } from "../../lab/kube/install-crds.ts";
import { admit } from "../../src/api/admission/validation.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import type { CustomResourceDefinition } from "../../src/api/crds/crd.ts";
import type { CustomKind } from "../../src/api/define-kind.ts";
import { apiVersionOf, keyOf, type Kind, type KubeObject } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../src/api/metallb/configuration-status.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { createLog } from "../../src/kube/log.ts";
import { heartbeat } from "../../src/kube/members/heartbeat.ts";
import { parseMembers } from "../../src/kube/members/members.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import { StatusWriter } from "../../src/kube/status/status-writer.ts";
import { validValue } from "../api/generate.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { startController } from "../support/controller.ts";

// One cluster that is upgraded: first with the definitions of an earlier version, as they were recorded, then with those of today.

const { signal } = new AbortController();
const ROUTERS = "openperouter-system";
const METALLB = "metallb-system";
const SEED = 9;
const EACH = 5;
const log = createLog({ level: "silent" });
const stop = new AbortController();
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });
let api: SuiteApiServer;
let client: KubeClient;
let stored: Map<string, KubeObject>;

beforeAll(async () => {
  api = await apiServer("upgrade", { audit: true });
  client = new KubeClient(api.access);
  const earlier = JSON.parse(
    await readFile(join(import.meta.dirname, "testdata/earlier-definitions.json"), "utf8"),
  ) as CustomResourceDefinition[];
  await applyCrds(client, earlier, signal);
  await installIdentities(client, signal);
  await client.resource(Namespace).create({ metadata: { name: "stored" } }, { signal });
  for (const name of ["old-agent", "new-agent"]) await client.resource(Node).create({ metadata: { name } }, { signal });
  for (const kind of CUSTOM_KINDS) await Promise.all(someOf(kind).map((object) => store(kind, object)));
  stored = await everything();
});
afterAll(async () => {
  stop.abort();
  client.close();
  await api.stop();
});

/** Values that the earlier definitions do not know. */
const NEWER = /"(Application|VolumeGroupReplication|announced)"/;

interface EarlierSpec {
  readonly neighbors?: readonly { readonly asn?: number; readonly address?: string }[];
  readonly hostsession?: { readonly hostasn?: number };
}

/** Whether it has what the earlier definitions of the router's kinds require. */
function hasRequired({ spec: { neighbors = [], hostsession } = {} }: { readonly spec?: EarlierSpec }): boolean {
  const isComplete = neighbors.every(({ asn, address }) => asn !== undefined && address !== undefined);
  return isComplete && (hostsession === undefined || hostsession.hostasn !== undefined);
}

/** Random objects of the kind that are valid in both versions. */
function someOf(kind: CustomKind): KubeObject[] {
  const objectOf = (name: string, parts: unknown): KubeObject => ({
    ...(parts as object),
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name, namespace: "stored" },
  });
  const valid = validValue(kind.schema).filter(
    (parts) =>
      !NEWER.test(JSON.stringify(parts)) && hasRequired(parts as object) && admit(kind, objectOf("any", parts)).errors.length === 0,
  );
  return fc.sample(valid, { seed: SEED, numRuns: EACH }).map((parts, at) => objectOf(`made-up-${at}`, parts));
}

async function store(kind: CustomKind, object: KubeObject): Promise<void> {
  const { metadata } = await client.resource(kind).create(object, { signal });
  if ("status" in object) await client.resource(kind).replaceStatus({ ...object, metadata }, { signal });
}

async function everything(): Promise<Map<string, KubeObject>> {
  const lists = await Promise.all(CUSTOM_KINDS.map((kind) => client.resource(kind as Kind).list({ namespace: "stored", signal })));
  return new Map(lists.flatMap(({ items }) => items.map((item) => [`${item.kind} ${keyOf(item)}`, item])));
}

/** The requests by which a program has written reports. */
async function reports(userAgent: string): Promise<string[]> {
  interface Line {
    verb: string;
    userAgent?: string;
    objectRef?: { resource: string; subresource?: string; name?: string };
  }
  const lines = (await readFile(api.server.auditLog, "utf8")).split("\n").filter((line) => line.endsWith("}"));
  return lines
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line.userAgent === userAgent && ["create", "patch", "update", "delete"].includes(line.verb))
    .filter(({ objectRef }) => /status|state/.test(objectRef?.resource ?? ""))
    .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource} ${objectRef?.name ?? ""}`.trim());
}

const conditions = (ready: "True" | "False") => [{ type: "Ready", status: ready, reason: "Told", message: "told" }] as const;
const report = (node: string) => client.resource(RouterNodeConfigurationStatus).get(node, { namespace: ROUTERS, signal });

/** What an agent of today reports, with a field that the earlier definitions do not have. */
class NewAgent {
  readonly #writer: StatusWriter<RouterNodeConfigurationStatus>;

  constructor() {
    const own = new KubeClient(accessAs({ agentOf: "new-agent" }, api.access), { userAgent: "new-agent" });
    const kind = RouterNodeConfigurationStatus;
    const cache = new Cache(own, kind, { namespace: ROUTERS, fieldSelector: "metadata.name=new-agent" });
    this.#writer = new StatusWriter<RouterNodeConfigurationStatus>({ client: own, cache, kind, budget: new WriteBudget(), log });
    cache.start(stop.signal);
    void this.#writer.run(stop.signal).finally(() => own.close());
  }

  say(ready: "True" | "False"): void {
    this.#writer.set(`${ROUTERS}/new-agent`, {
      status: { conditions: conditions(ready), links: [{ name: "eth1", state: "Up" }] },
      create: { metadata: { annotations: { "plumbline.dev/node": "new-agent" } } },
    });
  }
}
let agent: NewAgent;

test("a new agent on old definitions says what they have room for, and does not write the rest again and again", async () => {
  agent = new NewAgent();
  agent.say("True");
  await eventually(async () => expect((await report("new-agent")).status).toMatchObject({ conditions: conditions("True") }));
  expect((await report("new-agent")).status).not.toHaveProperty("links");
  const written = await reports("new-agent");
  // As often as reconcilers come by.
  for (let pass = 0; pass < 40; pass++) {
    agent.say("True");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const again = (await reports("new-agent")).slice(written.length);
  expect(again.length).toBeLessThan(5);
  agent.say("False");
  await eventually(async () => expect((await report("new-agent")).status).toMatchObject({ conditions: conditions("False") }));
});

test("under the definitions of today all that was stored is there, is the same, and is valid", async () => {
  await installCrds(client, CUSTOM_KINDS, signal);
  const now = await everything();
  expect(now).toEqual(stored);
  expect(now.size).toBe(EACH * CUSTOM_KINDS.length);
  const errors: string[] = [];
  for (const kind of CUSTOM_KINDS) {
    const path = `/apis/${kind.group}/${kind.version}/namespaces/stored/${kind.plural}`;
    const ofKind = [...now.values()].filter((object) => object.kind === kind.kind);
    for (const object of ofKind) {
      for (const part of "status" in object ? ["", "/status"] : [""]) {
        await client
          .request("PUT", `${path}/${object.metadata.name}${part}`, { body: object, query: { dryRun: "All" }, signal })
          .catch((error: unknown) => errors.push(`${keyOf(object)}${part}: ${String(error)}`));
      }
    }
  }
  expect(errors).toEqual([]);
});

test("an agent that was there before the definitions adds what they have room for now", async () => {
  await eventually(async () => {
    agent.say("True");
    expect((await report("new-agent")).status?.links).toEqual([{ name: "eth1", state: "Up" }]);
  });
});

test("a new controller takes the reports of an old agent for what they say, and leaves them as they are", async () => {
  const old = new KubeClient(accessAs({ agentOf: "old-agent" }, api.access), { userAgent: "old-agent" });
  const annotations = { "plumbline.dev/node": "old-agent" };
  // As an earlier version has written them: no links, no resources, no failures.
  const router = { name: "old-agent", namespace: ROUTERS, annotations };
  await old.resource(RouterNodeConfigurationStatus).create({ metadata: router }, { signal });
  const time = "2026-11-16T08:00:00Z";
  const reported = { conditions: [{ ...conditions("True")[0], lastTransitionTime: time }] };
  await old.resource(RouterNodeConfigurationStatus).patchStatus(router, { status: reported }, { signal });
  const speaker = { name: "speaker-old-agent", namespace: METALLB, annotations };
  await old.resource(ConfigurationState).create({ metadata: speaker }, { signal });
  await old.resource(ConfigurationState).patchStatus(speaker, { status: { result: "Valid", lastError: "" } }, { signal });
  const namespace = "plumbline-system";
  const beats = ["old-agent", "new-agent"].map((node) => {
    const own = new KubeClient(accessAs({ agentOf: node }, api.access));
    return heartbeat({ client: own, namespace, node, nodeUid: () => undefined, log, renewMs: 1_000 })
      .run(stop.signal)
      .finally(() => own.close());
  });

  await using controllers = new AsyncDisposableStack();
  controllers.use(startController(accessAs("controller", api.access)));
  await eventually(async () => {
    const members = await client.resource(ConfigMap).get("plumbline-members", { namespace, signal });
    expect(parseMembers(members)?.live).toEqual(["new-agent", "old-agent"]);
    const { status } = await client.resource(ConfigurationStatus).get("config-status", { namespace: METALLB, signal });
    expect(status?.components).toEqual({ valid: 2, invalid: 0, unknown: 0 });
  });
  const written = await reports("controller");
  expect(written.filter((line) => line.includes("old-agent"))).toEqual([]);
  expect((await report("old-agent")).status).toEqual(reported);
  stop.abort();
  await Promise.all(beats);
  old.close();
});

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { createLog } from "../../src/kube/log.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { CuttingProxy } from "../support/disconnecting-proxy.ts";
import { copyProblems, COPIES, copier, copyCache, createNamespaces, revisions, sourceCache, SOURCES } from "./fixtures/copier.ts";

const CYCLES = 30 * Math.max(1, Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0) / 3);
const WRITERS = 3;
const SOURCES_PER_WRITER = 20;
const BURST = 20;

let api: SuiteApiServer;
let wire: CuttingProxy;
const never = new AbortController().signal;

beforeAll(async () => {
  api = await apiServer("chaos", { audit: true });
  wire = await CuttingProxy.before(api.server.port, 3);
  wire.calm = true;
});

afterAll(async () => {
  await wire.stop();
  await api.stop();
});

/** The same course of "chance" in every run. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One disturbance; when it returns the server is well again. Every fifth is a new server process, since a start takes four seconds. */
async function disturb(cycle: number, random: () => number): Promise<void> {
  const { server } = api;
  switch (cycle % 5) {
    case 0:
      wire.cutAll();
      await sleep(200 + random() * 500);
      wire.cutAll();
      return;
    case 1:
      server.pause();
      await sleep(300 + random() * 1500);
      server.resume();
      return;
    case 2:
      // Long enough for calls to run into their deadline while the server sleeps, and to be carried out when it wakes.
      server.pause();
      await sleep(2500);
      server.resume();
      return;
    case 3:
      server.pause();
      await sleep(random() * 500);
      wire.cutAll();
      await sleep(random() * 500);
      server.resume();
      return;
    default:
      await server.kill();
      await sleep(random() * 500);
      await server.restart();
  }
}

type Revision = () => string;

const ignore = (): void => undefined;

/** Enough at once to keep every worker busy: some sources that never change again, so that no later change hides a missed one, and some that change. */
async function burst(cycle: number, client: KubeClient, revision: Revision): Promise<void> {
  const configMaps = client.resource(ConfigMap);
  const writes = Array.from({ length: BURST }, async (_, n) => {
    const once = { metadata: { name: `once-${cycle}-${n}`, namespace: SOURCES }, data: { revision: revision() } };
    await configMaps.create(once, { signal: never }).catch(ignore);
    const often = { metadata: { name: `often-${n}`, namespace: SOURCES }, data: { revision: revision() } };
    if (cycle === 0) await configMaps.create(often, { signal: never }).catch(ignore);
    else await configMaps.patch({ name: `often-${n}`, namespace: SOURCES }, { data: often.data }, { signal: never }).catch(ignore);
  });
  await Promise.all(writes);
}

/** Creates, changes and deletes its sources until it is stopped. It does not check a write whose answer was lost. */
async function write(writer: number, client: KubeClient, revision: Revision, signal: AbortSignal): Promise<void> {
  const configMaps = client.resource(ConfigMap);
  const random = chance(writer + 1);
  while (!signal.aborted) {
    const name = `source-${writer}-${Math.floor(random() * SOURCES_PER_WRITER)}`;
    const data = { revision: revision() };
    try {
      if (random() < 0.15) await configMaps.delete({ name, namespace: SOURCES }, { signal: never });
      else await configMaps.patch({ name, namespace: SOURCES }, { data }, { signal: never });
    } catch (error) {
      if (!isKubeError(error)) throw error;
      if (error.code === "NotFound") {
        await configMaps.create({ metadata: { name, namespace: SOURCES }, data }, { signal: never }).catch(ignore);
      }
    }
    await sleep(20 + random() * 60);
  }
}

/** Writes of copies that the server has carried out, by verb and name. */
async function carriedOut(): Promise<Record<"create" | "patch" | "delete", Map<string, number>>> {
  const counts = { create: new Map<string, number>(), patch: new Map<string, number>(), delete: new Map<string, number>() };
  for (const line of (await readFile(api.server.auditLog, "utf8")).split("\n")) {
    // A server that is killed may leave half a line.
    if (!line.endsWith("}")) continue;
    const entry = JSON.parse(line) as {
      verb: string;
      objectRef?: { namespace?: string; name?: string };
      responseStatus?: { code?: number };
    };
    const { namespace, name = "" } = entry.objectRef ?? {};
    const code = entry.responseStatus?.code ?? 0;
    if (namespace !== COPIES || code < 200 || code >= 300) continue;
    if (entry.verb === "create" || entry.verb === "patch" || entry.verb === "delete") {
      counts[entry.verb].set(name, (counts[entry.verb].get(name) ?? 0) + 1);
    }
  }
  return counts;
}

test(
  `after ${CYCLES} cycles of the server killed, paused, cut off and restarted nothing is lost and nothing is doubled`,
  { timeout: CYCLES * 30_000 },
  async () => {
    const access = { ...api.access, server: `https://127.0.0.1:${wire.port}` };
    const client = new KubeClient(access, { deadlineMs: 2000 });
    const witness = new KubeClient(api.access);
    await createNamespaces(witness);

    const stop = new AbortController();
    const sources = new Cache(client, ConfigMap, sourceCache);
    const copies = new Cache(client, ConfigMap, copyCache);
    sources.start(stop.signal);
    copies.start(stop.signal);
    const copying = copier({ client, sources, copies, log: createLog({ level: "silent" }), workers: 4 }).run(stop.signal);

    let last = 0;
    const revision = () => String(++last);
    const writerClient = new KubeClient(access, { deadlineMs: 2000 });
    const stopWriting = new AbortController();
    const writing = Array.from({ length: WRITERS }, (_, writer) => write(writer, writerClient, revision, stopWriting.signal));

    const random = chance(3);
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      writing.push(burst(cycle, writerClient, revision));
      await sleep(20 + random() * 80);
      await disturb(cycle, random);
      await sleep(random() * 1500);
    }

    stopWriting.abort();
    await Promise.all(writing);
    await vi.waitFor(async () => expect(await copyProblems(witness, never)).toEqual([]), { timeout: 60_000, interval: 500 });

    const { items: wanted } = await witness.resource(ConfigMap).list({ namespace: SOURCES, signal: never });
    expect(wanted.length).toBeGreaterThan(CYCLES);
    await vi.waitFor(() => expect(new Map(sources.list().map(identity))).toEqual(new Map(wanted.map(identity))), { timeout: 60_000 });

    const { items: made } = await witness.resource(ConfigMap).list({ namespace: COPIES, signal: never });
    const writes = await carriedOut();
    expect([...writes.create, ...writes.delete].filter(([, count]) => count > 1)).toEqual([]);
    // Every patch that was carried out has left its revision: none was sent twice, and none was written over.
    const patches = made.map(
      (copy) => [copy.metadata.name, writes.patch.get(copy.metadata.name) ?? 0, revisions(copy).length - 1] as const,
    );
    expect(patches.filter(([, carriedOut, left]) => carriedOut > left)).toEqual([]);
    // The slower the machine, the more changes become one patch.
    expect(patches.some(([, carriedOut]) => carriedOut > 1)).toBe(true);

    stop.abort();
    await copying;
    for (const each of [client, writerClient, witness]) each.close();
  },
);

function identity({ metadata }: ConfigMap): [string | undefined, string | undefined] {
  return [metadata.uid, metadata.resourceVersion];
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PodNetworkConnectivityCheck } from "../src/api/connectivity/pod-network-connectivity-check.ts";
import { Namespace } from "../src/api/core/namespace.ts";
import { crdOf, CustomResourceDefinition } from "../src/api/crds/crd.ts";
import { accessFromKubeconfig } from "../src/kube/client/access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { p2pncKubeconfig } from "../test/connectivity/fixtures/kubeconfig.ts";
import { build } from "../tools/build.ts";
import { type Arena, inArena } from "./bench-api-server.ts";
import { compare, defineBench, interleaved } from "./measure.ts";
import { Resident } from "./p2pnc/resident.ts";

/** At most three times as long as bare Node, and one and a half times its memory. */
const GOALS = { start: 0.3333, memory: 0.6667 };
const [NAMESPACE, POD] = ["shop", "p1"];
/** How long bare Node may take to come to rest. */
const BARE_WARMUP_MS = 3_000;

const { signal } = new AbortController();

interface Counts {
  starts: number;
  runs: number;
  checks: number;
  warmupMs: number;
}

export const bench = defineBench<Counts>({
  // 20 checks are what the pod of an API server has.
  full: { starts: 21, runs: 5, checks: 20, warmupMs: 30_000 },
  tiny: { starts: 1, runs: 1, checks: 2, warmupMs: 1_000 },
  run: (counts, say) =>
    inArena({}, async (arena) => {
      const dist = join(arena.directory, "dist");
      await mkdir(dist);
      await writeFile(join(dist, "package.json"), JSON.stringify({ type: "module" }));
      await build(dist);
      const program = join(dist, "p2pnc.js");
      const server = createServer((socket) => socket.on("error", () => undefined).destroy());
      await once(server.listen(0, "127.0.0.1"), "listening");
      try {
        const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
        const start = await starts(program, target, counts);
        say(`start: ${start.ours.map(Math.round).join(" ")} ms; node: ${start.peer.map(Math.round).join(" ")} ms`);
        const memory = await residents(program, target, arena, counts);
        say(`RSS: ${memory.ours.map(Math.round).join(" ")} MiB; node: ${memory.peer.map(Math.round).join(" ")} MiB`);
        const once = "p2pnc check tcp-endpoint --once, from exec to output (the peer: node -e 0)";
        const beside = `RSS of p2pnc beside a pod, with ${counts.checks} checks (the peer: bare node)`;
        return [
          compare({ bench: "p2pnc", what: once, goal: GOALS.start, unit: "ms" }, start.ours, start.peer),
          compare({ bench: "p2pnc", what: beside, goal: GOALS.memory, unit: "MiB" }, memory.ours, memory.peer),
        ];
      } finally {
        server.close();
      }
    }),
});

/** The bundle's first line finds the Node that runs this bench. */
const environment = (): Record<string, string | undefined> => {
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  return { ...process.env, PATH: path, NODE_COMPILE_CACHE: undefined, NODE_OPTIONS: undefined, POD_NAME: POD, POD_NAMESPACE: NAMESPACE };
};

async function starts(program: string, target: string, counts: Counts) {
  const ours = () => untilOutput([program, "check", "tcp-endpoint", "--once", target]);
  // The first ones bring the files into memory.
  await ours();
  await bareNode();
  return interleaved(counts.starts, { ours, peer: bareNode });
}

async function untilOutput([program = "", ...args]: readonly string[]): Promise<number> {
  let took: number | undefined;
  const start = performance.now();
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], env: environment() });
  child.stdout.once("data", () => (took = performance.now() - start));
  await once(child, "close");
  if (took === undefined || child.exitCode !== 0) throw new Error(`${program} shows nothing, or fails (${child.exitCode})`);
  return took;
}

async function bareNode(): Promise<number> {
  const start = performance.now();
  await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore", env: environment() }), "exit");
  return performance.now() - start;
}

async function residents(program: string, target: string, { server, kubeconfig, directory }: Arena, counts: Counts) {
  const access = await accessFromKubeconfig({ path: kubeconfig });
  const client = new KubeClient(access);
  const checks = client.resource(PodNetworkConnectivityCheck);
  await client.resource(Namespace).create({ metadata: { name: NAMESPACE } }, { signal });
  await client.resource(CustomResourceDefinition).create(crdOf(PodNetworkConnectivityCheck), { signal });
  while (!(await checks.list({ signal }).catch(() => undefined))) await sleep(100);
  const ownKubeconfig = await p2pncKubeconfig({ server, access }, "web", join(directory, "p2pnc.kubeconfig"));
  const names = Array.from({ length: counts.checks }, (_, n) => `check-${n}`);
  for (const name of names)
    await checks.create({ metadata: { name, namespace: NAMESPACE }, spec: { sourcePod: POD, targetEndpoint: target } }, { signal });
  const [, flags = ""] = /^#!.* node (.*)$/m.exec(await readFile(program, "utf8")) ?? [];

  const ours = async () => {
    const state = await mkdtemp(join(directory, "state-"));
    const options = [
      "--kubeconfig",
      ownKubeconfig,
      "--allow-target",
      "127.0.0.0/8",
      "--state-dir",
      state,
      "--interval",
      "5s",
      "--log-level",
      "warn",
    ];
    await using sidecar = new Resident([program, "check", "tcp-endpoint", ...options], environment());
    // Times in a status are whole seconds.
    const begun = Math.floor(Date.now() / 1_000) * 1_000;
    await sleep(counts.warmupMs);
    const isReported = ({ status }: PodNetworkConnectivityCheck) => Date.parse(status?.successes?.[0]?.time ?? "") >= begun;
    // One is enough: a check that is as an earlier run reported it may wait for a minute.
    while (!(await checks.list({ namespace: NAMESPACE, signal })).items.some(isReported)) {
      await sidecar.mebibytes();
      await sleep(200);
    }
    return await sidecar.mebibytes();
  };
  const peer = async () => {
    await using bare = new Resident([process.execPath, ...flags.split(" "), "-e", "setInterval(() => {}, 1000)"], environment());
    await sleep(Math.min(counts.warmupMs, BARE_WARMUP_MS));
    return await bare.mebibytes();
  };
  try {
    return await interleaved(counts.runs, { ours, peer });
  } finally {
    client.close();
  }
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run as build } from "../tools/build.ts";
import { startEmbedded } from "../src/embedded/embedded.ts";
import { createLog } from "../src/kube/log.ts";
import { compare, interleaved, type Bench } from "./measure.ts";

const ROOT = join(import.meta.dirname, "..");
const RUNS = 21;
/** At most three times as long as bare Node. */
const GOAL = Number((1 / 3).toPrecision(4));

export const bench: Bench = {
  name: "start",
  async run(say) {
    await build();
    const directory = await mkdtemp(join(tmpdir(), "plumbline-start-"));
    await cp(join(ROOT, "examples"), directory, { recursive: true });
    const embedded = await startEmbedded({ directory, log: createLog({ level: "error" }) });
    try {
      const get = [join(ROOT, "dist/plumbline.js"), "get", "namespaces", "--dir", directory];
      const bare = ["-e", "0"];
      // The first ones bring the files into memory.
      for (const args of [get, bare]) await untilEnded(args);
      const { ours, peer } = await interleaved({ ours: () => untilOutput(get), peer: () => untilEnded(bare) }, RUNS);
      say(`get: ${ours.map(Math.round).join(" ")} ms; node: ${peer.map(Math.round).join(" ")} ms`);
      return [
        compare({ bench: "start", what: "plumbline get, from exec to output (the peer: node -e 0)", goal: GOAL, unit: "ms" }, ours, peer),
      ];
    } finally {
      await embedded.stop();
      await rm(directory, { recursive: true });
    }
  },
};

function started(args: readonly string[]) {
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_OPTIONS: undefined };
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env });
}

async function untilOutput(args: readonly string[]): Promise<number> {
  const start = performance.now();
  const child = started(args);
  await once(child.stdout, "data");
  const took = performance.now() - start;
  await once(child, "exit");
  if (child.exitCode !== 0) throw new Error(`node ${args.join(" ")} ended with ${child.exitCode}`);
  return took;
}

async function untilEnded(args: readonly string[]): Promise<number> {
  const start = performance.now();
  await once(started(args), "exit");
  return performance.now() - start;
}

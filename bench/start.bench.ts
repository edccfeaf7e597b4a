import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { memoryDirectory } from "../lab/kube/etcd.ts";
import { build } from "../tools/build.ts";
import { Contestant, ourProgram } from "./process-under-test.ts";
import type { Serving } from "./embedded/server.ts";
import { compare, defineBench, interleaved } from "./measure.ts";

const EXAMPLES = join(import.meta.dirname, "../examples");
/** At most three times as long as bare Node. */
const GOAL = Number((1 / 3).toPrecision(4));

export const bench = defineBench({
  full: { runs: 21 },
  tiny: { runs: 1 },
  async run({ runs }, say) {
    const memory = await memoryDirectory("bench");
    try {
      const [manifests, dist] = [join(memory.path, "manifests"), join(memory.path, "dist")];
      await mkdir(dist);
      await writeFile(join(dist, "package.json"), JSON.stringify({ type: "module" }));
      await build(dist);
      await cp(EXAMPLES, manifests, { recursive: true });
      await using server = new Contestant(await ourProgram("embedded/server.ts", memory.path), [manifests]);
      await server.next<Serving>();

      const get = [join(dist, "plumbline.js"), "get", "l3vni", "-A", "--dir", manifests];
      const bare = [process.execPath, "-e", "0"];
      // The first ones bring the files into memory.
      await untilOutput(get);
      await untilEnded(bare);
      const { ours, peer } = await interleaved(runs, { ours: () => untilOutput(get), peer: () => untilEnded(bare) });
      say(`get: ${ours.map(Math.round).join(" ")} ms; node: ${peer.map(Math.round).join(" ")} ms`);
      const what = "plumbline get, from exec to output (the peer: node -e 0)";
      return [compare({ bench: "start", what, goal: GOAL, unit: "ms" }, ours, peer)];
    } finally {
      await memory.remove();
    }
  },
});

type Command = readonly string[];

/** Runs the bundle directly: its first line finds the Node that runs this bench. */
function started([program = "", ...args]: Command) {
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const env = { ...process.env, PATH: path, NODE_COMPILE_CACHE: undefined, NODE_OPTIONS: undefined };
  return spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], env });
}

async function untilOutput(command: Command): Promise<number> {
  let took: number | undefined;
  const start = performance.now();
  const child = started(command);
  child.stdout.once("data", () => (took = performance.now() - start));
  await once(child, "close");
  if (took === undefined || child.exitCode !== 0) throw new Error(`${command.join(" ")} shows nothing, or fails (${child.exitCode})`);
  return took;
}

async function untilEnded(command: Command): Promise<number> {
  const start = performance.now();
  await once(started(command), "exit");
  return performance.now() - start;
}

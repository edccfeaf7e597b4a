import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { memoryDirectory } from "../lab/kube/etcd.ts";
import { L3VNI } from "../src/api/openpe/l3vni.ts";
import { fixedAccess } from "../src/kube/testing/fixed-access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { Contestant, ourProgram, peerProgram } from "./process-under-test.ts";
import type { Serving } from "./embedded/server.ts";
import { PER_FILE, writeManifest, writeManifests } from "./embedded-edit/manifests.ts";
import type { Reread } from "./embedded-edit/peer.ts";
import { compare, defineBench, interleaved } from "./measure.ts";

export const bench = defineBench({
  full: { runs: 7, files: 1_000, editsPerRun: 20 },
  tiny: { runs: 1, files: 10, editsPerRun: 2 },
  async run({ runs, files, editsPerRun }, say) {
    const objects = files * PER_FILE;
    const memory = await memoryDirectory("bench");
    const stop = new AbortController();
    try {
      const [served, reread] = [join(memory.path, "served"), join(memory.path, "reread")];
      for (const directory of [served, reread]) {
        await mkdir(directory);
        writeManifests(directory, files);
      }
      say(`reading ${objects} objects`);
      await using server = new Contestant(await ourProgram("embedded/server.ts", memory.path), [served]);
      const { socket } = await server.next<Serving>();
      await using reader = new Contestant(await peerProgram("embedded-edit/peer.ts", memory.path), [reread, String(files)]);
      await reader.next<Reread>();
      const observed = await watchAll(socket, objects, stop.signal);

      const { ours, peer } = await interleaved(runs, {
        ours: async () => {
          let ms = 0;
          for (let n = 0; n < editsPerRun; n++) ms += await edit(served, files, observed);
          say(`ours: seen after ${(ms / editsPerRun).toFixed(1)} ms`);
          return ms / editsPerRun;
        },
        peer: async () => {
          const ms = await edit(reread, files, async () => {
            reader.tell({});
            return (await reader.next<Reread>()).vnis;
          });
          say(`reading everything again: ${ms.toFixed(0)} ms`);
          return ms;
        },
      });
      const what = `${objects} objects, from the edit of a file until it is seen`;
      return [compare({ bench: "embedded-edit", what, goal: 50, unit: "ms" }, ours, peer)];
    } finally {
      stop.abort();
      await memory.remove();
    }
  },
});

let edits = 0;

/** How long it takes from the edit of a file, each time another, until its new VNI is among what has changed. */
async function edit(directory: string, files: number, changes: () => Promise<readonly number[]>): Promise<number> {
  edits += 1;
  const vni = 2_000_000 + edits;
  const start = performance.now();
  writeManifest(directory, (edits * 37) % files, vni);
  while (!(await changes()).includes(vni));
  return performance.now() - start;
}

/** Watches over the socket; what it returns waits for the next change. */
async function watchAll(socket: string, objects: number, signal: AbortSignal): Promise<() => Promise<readonly number[]>> {
  const client = new KubeClient(fixedAccess(`unix:${socket}`));
  const events = client.resource(L3VNI).watch({ sendInitialEvents: true, signal })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done = false } = await events.next();
    if (done || !value) throw new Error("the watch ended");
    return value;
  };
  let listed = 0;
  for (let event = await next(); event.type !== "BOOKMARK"; event = await next()) listed += 1;
  if (listed !== objects) throw new Error(`${listed} of ${objects} objects are served`);
  return async () => {
    const event = await next();
    return event.type === "MODIFIED" ? [event.object.spec.vni] : [];
  };
}

import { readFileSync } from "node:fs";
import { keyOf } from "../../src/api/kind.ts";
import type { L3VNI } from "../../src/api/openpe/l3vni.ts";
import { readManifests } from "../../src/embedded/manifests/manifests.ts";
import { same } from "../../src/embedded/kinds/json.ts";
import { pathOf } from "./manifests.ts";

export interface Reread {
  /** Of the objects that are others than they were. */
  vnis: number[];
}

const [directory = "", files = ""] = process.argv.slice(2);
const objects = new Map<string, L3VNI>();

/** Reads everything, as a program does that only knows that something in the directory has changed. */
function reread(): Reread {
  const vnis: number[] = [];
  for (let file = 0; file < Number(files); file++) {
    for (const { manifests } of readManifests(readFileSync(pathOf(directory, file)), { json: false })) {
      for (const manifest of manifests) {
        const object = manifest.object as L3VNI;
        const key = keyOf(object);
        if (same(objects.get(key), object)) continue;
        objects.set(key, object);
        vnis.push(object.spec.vni);
      }
    }
  }
  return { vnis };
}

reread();
process.on("message", () => process.send?.(reread()));
process.send?.({ vnis: [] } satisfies Reread);

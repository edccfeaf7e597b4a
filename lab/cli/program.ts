import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Computed, so that the bundler leaves it alone: it is no part of what is shipped. */
const BUILD = join(import.meta.dirname, "../../tools/build.ts");

/**
 * The program as it is shipped, for the lab's hosts to run. From its sources each start reads hundreds of files, which takes a User-Mode Linux ten
 * seconds more.
 */
export async function builtProgram(directory: string): Promise<string> {
  const dist = join(directory, "dist");
  await mkdir(dist);
  await writeFile(join(dist, "package.json"), JSON.stringify({ type: "module" }));
  const { build } = (await import(BUILD)) as { build: (directory: string) => Promise<unknown> };
  await build(dist);
  return join(dist, "plumbline.js");
}

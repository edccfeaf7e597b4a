import { stat } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../../util/cache-directory.ts";

/** Beside the program, or one level up if this code is in a chunk. */
const BUILT = ["page", "../page"].map((path) => join(import.meta.dirname, path));
/** Computed, so that the bundler does not include it. */
const BUILD = join(import.meta.dirname, "../../../tools/page.ts");

/** The directory of the page: shipped with the program, or built in a checkout on first use. */
export async function pageFiles(): Promise<string> {
  for (const directory of BUILT) {
    if (await stat(join(directory, "index.html")).catch(() => undefined)) return directory;
  }
  const { builtPage } = (await import(BUILD)) as { builtPage: (cache: string) => Promise<string> };
  return builtPage(join(cacheDirectory(), "page"));
}

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../../util/cache-directory.ts";

/** Beside the program, or, in a chunk, beside what it is a chunk of. */
const BUILT = ["page", "../page"].map((path) => join(import.meta.dirname, path));
/** Computed, so that the bundler leaves it alone: it is no part of what is shipped. */
const BUILD = join(import.meta.dirname, "../../../tools/page.ts");

/** The directory of the built page: shipped with the program, or built from a checkout when it is first served. */
export async function pageFiles(): Promise<string> {
  for (const directory of BUILT) {
    if (await stat(join(directory, "index.html")).catch(() => undefined)) return directory;
  }
  const { builtPage } = (await import(BUILD)) as { builtPage: (cache: string) => Promise<string> };
  return builtPage(join(cacheDirectory(), "page"));
}

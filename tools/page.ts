import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { build } from "vite";

const ROOT = join(import.meta.dirname, "..");
const UI = join(ROOT, "src/web/ui");
/** What else the built files are made of. */
const BESIDES = ["package-lock.json", "src/api/health.ts", "tools/page.ts"];

/** Builds the page into a directory: index.html, and under assets/ what is named after its content and may be kept forever. */
export async function buildPage(directory: string): Promise<void> {
  await build({
    root: UI,
    configFile: false,
    logLevel: "error",
    // Below whatever path a proxy may serve it.
    base: "./",
    publicDir: false,
    // Said here: in a test NODE_ENV is another, and what is built is the same page.
    oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
    build: { outDir: directory, emptyOutDir: true, modulePreload: { polyfill: false }, assetsInlineLimit: 0, target: "es2023" },
  });
}

/** The directory of the page as this checkout has it; built first (a second or two) if missing. In the user's cache: the checkout may belong to someone else. */
export async function builtPage(cache: string): Promise<string> {
  const directory = join(cache, await contentHash());
  if (await readFile(join(directory, "index.html")).catch(() => undefined)) return directory;
  // A name of our own until it is whole: another process may build the same.
  await mkdir(cache, { recursive: true }).catch((error: unknown) => {
    throw new Error(`cannot write to ${cache}: set XDG_CACHE_HOME to a directory of yours`, { cause: error });
  });
  const unfinished = await mkdtemp(`${directory}-`);
  await buildPage(unfinished);
  await rename(unfinished, directory).catch(() => rm(unfinished, { recursive: true }));
  return directory;
}

async function contentHash(): Promise<string> {
  const files = (await readdir(UI, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
  const hash = createHash("sha256");
  for (const file of [...files, ...BESIDES.map((file) => join(ROOT, file))]) hash.update(file).update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}

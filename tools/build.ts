import { chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");

/** Each program and where it starts. */
const PROGRAMS = { plumbline: "src/main.ts", p2pnc: "src/p2pnc.ts" } as const;

/**
 * `npm run build`: in dist/ one file per program, which holds what it needs to start, and in dist/chunks/ what it loads when a command
 * asks for it; with source maps. In one file with everything, more time goes into reading what is not run than into running.
 */
export async function run(): Promise<number> {
  await rm(DIST, { recursive: true, force: true });
  for (const { name, chunks } of await build(DIST)) {
    const [main, ...others] = chunks;
    console.log(`dist/${name}.js ${kibibytes(main ? [main] : [])} KiB, ${others.length} chunks ${kibibytes(others)} KiB`);
  }
  return 0;
}

interface Built {
  readonly name: string;
  /** The program itself first. */
  readonly chunks: readonly { code: string }[];
}

/** Builds into a directory; Node takes what lies there for modules only under a package.json that says so. */
export async function build(directory: string): Promise<Built[]> {
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };
  const built: Built[] = [];
  for (const [name, entry] of Object.entries(PROGRAMS)) {
    const bundle = await rolldown({
      input: { [name]: join(ROOT, entry) },
      platform: "node",
      // pino's worker transports and prom-client's cluster mode are never used; both resolve their helpers at run time only then.
      transform: { define: { PLUMBLINE_VERSION: JSON.stringify(version) } },
    });
    const { output } = await bundle.write({
      dir: directory,
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name]-[hash].js",
      format: "esm",
      sourcemap: true,
      minify: "dce-only",
      banner: ({ isEntry }) => (isEntry ? "#!/usr/bin/env -S node --max-semi-space-size=1" : ""),
    });
    await bundle.close();
    await chmod(join(directory, `${name}.js`), 0o755);
    built.push({ name, chunks: output.filter((file) => file.type === "chunk") });
  }
  return built;
}

function kibibytes(chunks: readonly { code: string }[]): number {
  return Math.round(chunks.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0) / 1024);
}

import { chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type OutputOptions, type Plugin, rolldown } from "rolldown";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");

interface Program {
  readonly entry: string;
  readonly minify: NonNullable<OutputOptions["minify"]>;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  plumbline: { entry: "src/main.ts", minify: "dce-only" },
  // Beside every pod: no more text than there must be, which V8 keeps. Names stay, for those who read stacks.
  p2pnc: { entry: "src/p2pnc.ts", minify: { compress: true, mangle: false } },
};

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
  for (const [name, { entry, minify }] of Object.entries(PROGRAMS)) {
    const bundle = await rolldown({
      input: { [name]: join(ROOT, entry) },
      platform: "node",
      plugins: [withoutExecutables],
      // pino's worker transports and prom-client's cluster mode are never used; both resolve their helpers at run time only then.
      transform: { define: { PLUMBLINE_VERSION: JSON.stringify(version) } },
    });
    const { output } = await bundle.write({
      dir: directory,
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name]-[hash].js",
      format: "esm",
      sourcemap: true,
      minify,
      banner: ({ isEntry }) => (isEntry ? "#!/usr/bin/env -S node --max-semi-space-size=1" : ""),
    });
    await bundle.close();
    await chmod(join(directory, `${name}.js`), 0o755);
    built.push({ name, chunks: output.filter((file) => file.type === "chunk") });
  }
  return built;
}

/** commander loads child_process for commands that are programs of their own, which none of ours is: a sidecar has 1 MiB less without. */
const withoutExecutables: Plugin = {
  name: "without-executables",
  resolveId: (source, importer) => (source === "node:child_process" && importer?.includes("/commander/") ? "\0none" : undefined),
  load: (id) => (id === "\0none" ? "export default {};" : undefined),
};

function kibibytes(chunks: readonly { code: string }[]): number {
  return Math.round(chunks.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0) / 1024);
}

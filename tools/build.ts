import { chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type OutputOptions, type Plugin, rolldown } from "rolldown";
import { buildPage } from "./page.ts";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");
/** Python programs that the bundle carries as text, by the name with which the source refers to them. */
const SCRIPTS = {
  PACKET_SOCKET_SCRIPT: "src/loadbalancer/speaker/l2/packet-socket.py",
  PROBE_SOCKET_SCRIPT: "src/router/probes/probe-socket.py",
  ROUTER_CONNECT_SCRIPT: "src/connectivity/probe/router-connect.py",
};

interface Program {
  readonly entry: string;
  readonly plugins: readonly Plugin[];
  /** What its first line has `env` start. */
  readonly node: string;
  readonly minify: NonNullable<OutputOptions["minify"]>;
}

/** commander loads child_process for commands that are programs of their own, which none of ours is: a sidecar has 1 MiB less without. */
const withoutExecutables: Plugin = {
  name: "without-executables",
  resolveId: (source, importer) => (source === "node:child_process" && importer?.includes("/commander/") ? "\0none" : undefined),
  load: (id) => (id === "\0none" ? "export default {};" : undefined),
};

/** pino would load them for transports in threads, which are not used: 1 MiB. */
const withoutThreads: Plugin = {
  name: "without-threads",
  resolveId: (source, importer) =>
    /^(node:)?worker_threads$/.test(source) && importer?.includes("/node_modules/") ? "\0threads" : undefined,
  load: (id) => (id === "\0threads" ? "export const isMainThread = true; export const threadId = 0; export class Worker {}" : undefined),
};

/** sonic-boom asks one question of it; Node's own compares, draws and colors as well. */
const withoutAssert: Plugin = {
  name: "without-assert",
  resolveId: (source, importer) => (source === "assert" && importer?.includes("/sonic-boom/") ? "\0assert" : undefined),
  load: (id) => (id === "\0assert" ? "module.exports = (fine, why) => { if (!fine) throw new Error(why); };" : undefined),
};

const BUILTIN = "\0builtin:";

/** `import` has Node read everything that a module of its own exports, and what is there on demand only is loaded for that: 3 MiB. Here only what is used is read. */
const onDemand: Plugin = {
  name: "on-demand",
  resolveId: (source, _importer, { kind }) =>
    kind === "import-statement" && source.startsWith("node:") && source !== "node:module" ? `${BUILTIN}${source}` : undefined,
  load(id) {
    if (!id.startsWith(BUILTIN)) return undefined;
    const name = id.slice(BUILTIN.length);
    const exported = Object.keys(process.getBuiltinModule(name) ?? {}).filter((key) => /^[A-Za-z]\w*$/.test(key) && key !== "default");
    const module = `/* @__PURE__ */ process.getBuiltinModule(${JSON.stringify(name)})`;
    const lines = exported.map((key, at) => `const $${at} = /* @__PURE__ */ (() => (${module})[${JSON.stringify(key)}])();`);
    const code = [...lines, `export { ${exported.map((key, at) => `$${at} as ${key}`).join(", ")} };`, `export default ${module};`].join(
      "\n",
    );
    return { code, moduleSideEffects: false };
  },
};

const PROGRAMS: Readonly<Record<string, Program>> = {
  plumbline: { entry: "src/main.ts", plugins: [withoutExecutables], node: "node --max-semi-space-size=1", minify: "dce-only" },
  // Beside every pod: no more text than there must be, which V8 keeps. Names stay, for those who read stacks.
  p2pnc: {
    entry: "src/p2pnc.ts",
    plugins: [withoutExecutables, withoutThreads, withoutAssert, onDemand],
    // It is idle nearly always: without compilers it has 3 MiB less, and starts as fast.
    node: "MALLOC_ARENA_MAX=1 node --max-semi-space-size=1 --lite-mode",
    minify: { compress: true, mangle: false },
  },
};

/**
 * `npm run build`: in dist/ one file per program, which holds what it needs to start, and in dist/chunks/ what it loads when a command
 * asks for it; with source maps. In dist/page/ what browsers are given. In one file with everything, more time goes into reading what is not run than into running.
 */
export async function run(): Promise<number> {
  await rm(DIST, { recursive: true, force: true });
  for (const { name, chunks } of await build(DIST)) {
    const [main, ...others] = chunks;
    console.log(`dist/${name}.js ${kibibytes(main ? [main] : [])} KiB, ${others.length} chunks ${kibibytes(others)} KiB`);
  }
  await buildPage(join(DIST, "page"));
  return 0;
}

interface Built {
  readonly name: string;
  /** The program itself first. */
  readonly chunks: readonly { code: string }[];
}

/** Builds into a directory; Node treats the files as modules only with a package.json that says so. */
export async function build(directory: string): Promise<Built[]> {
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };
  const define: Record<string, string> = { PLUMBLINE_VERSION: JSON.stringify(version) };
  for (const [name, path] of Object.entries(SCRIPTS)) define[name] = JSON.stringify(await readFile(join(ROOT, path), "utf8"));
  const built: Built[] = [];
  for (const [name, { entry, plugins, node, minify }] of Object.entries(PROGRAMS)) {
    const bundle = await rolldown({
      input: { [name]: join(ROOT, entry) },
      platform: "node",
      plugins: [...plugins],
      // pino's worker transports and prom-client's cluster mode are never used; both resolve their helpers at run time only then.
      transform: { define },
    });
    const { output } = await bundle.write({
      dir: directory,
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name]-[hash].js",
      format: "esm",
      sourcemap: true,
      minify,
      banner: ({ isEntry }) => (isEntry ? `#!/usr/bin/env -S ${node}` : ""),
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

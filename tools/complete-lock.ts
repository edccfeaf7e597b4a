import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

interface Locked {
  version?: string;
  optional?: true;
  dev?: true;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}
export interface Lock {
  packages: Record<string, Locked>;
}

const LOCK = join(import.meta.dirname, "../package-lock.json");
const SYSTEMS = new Set(["android", "darwin", "freebsd", "linux", "openharmony", "win32"]);

/**
 * `./plumbline complete-lock`, after a change of dependencies: adds the native packages of other platforms that npm left out because the registry
 * at hand does not carry them. Without them `npm ci` refuses the lock file; with them it skips them unseen.
 */
export async function run(): Promise<number> {
  const lock = JSON.parse(await readFile(LOCK, "utf8")) as Lock;
  const missing = missingFromLock(lock);
  if (missing.size > 0) {
    const packages = Object.entries({ ...lock.packages, ...Object.fromEntries(missing) });
    lock.packages = Object.fromEntries(packages.sort(([a], [b]) => (a < b ? -1 : 1)));
    await writeFile(LOCK, `${JSON.stringify(lock, null, 2)}\n`);
  }
  console.log(
    missing.size > 0 ? `Added to package-lock.json: ${missing.size} packages of other platforms.` : "package-lock.json is complete.",
  );
  return 0;
}

/** By the path at which each belongs. */
export function missingFromLock({ packages }: Lock): Map<string, Locked> {
  const missing = new Map<string, Locked>();
  for (const [path, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const top = `node_modules/${name}`;
      const nested = `${path}/${top}`;
      const platform = platformOf(name);
      if (!platform || [top, nested].some((place) => (packages[place] ?? missing.get(place))?.version === version)) continue;
      missing.set(packages[top] || missing.has(top) ? nested : top, { version, ...platform, ...(dev && { dev }), optional: true });
    }
  }
  return missing;
}

/** Native packages end in their platform: `binding-linux-x64-musl`. */
function platformOf(name: string): Pick<Locked, "os" | "cpu" | "libc"> | undefined {
  if (name.endsWith("wasm32-wasi")) return { cpu: ["wasm32"] };
  const words = name.slice(name.indexOf("/") + 1).split("-");
  const at = words.findIndex((word) => SYSTEMS.has(word));
  const [os, cpu, flavour = ""] = words.slice(at);
  if (at < 0 || !os || !cpu) return undefined;
  const libc = os !== "linux" ? {} : { libc: [flavour.startsWith("musl") ? "musl" : "glibc"] };
  return { os: [os], cpu: [cpu], ...libc };
}

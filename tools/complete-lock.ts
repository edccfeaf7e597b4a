import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

interface Locked {
  version?: string;
  integrity?: string;
  optional?: true;
  dev?: true;
  os?: string | string[];
  cpu?: string | string[];
  libc?: string | string[];
  optionalDependencies?: Record<string, string>;
}
export interface LockFile {
  packages: Record<string, Locked>;
}

const LOCK = join(import.meta.dirname, "../package-lock.json");
const SYSTEMS = new Set(["android", "darwin", "freebsd", "linux", "openharmony", "win32"]);

/** Where Plumbline runs: the packages that npm installs there are the ones whose code runs. */
const HERE = { os: "linux", cpu: "x64", libc: "glibc" };

/**
 * `./plumbline complete-lock`, after a change of dependencies: adds the native packages of other platforms that npm left out because the registry
 * at hand does not carry them, and the hashes of those of this platform. Without the packages `npm ci` refuses the lock file; with them it skips
 * them unseen. Without a hash it installs whatever it is given.
 */
export async function run(): Promise<number> {
  const lock = JSON.parse(await readFile(LOCK, "utf8")) as LockFile;
  const missing = missingFromLock(lock);
  const packages = Object.entries({ ...lock.packages, ...Object.fromEntries(missing) });
  lock.packages = Object.fromEntries(packages.sort(([a], [b]) => (a < b ? -1 : 1)));
  const unhashed = withoutHash(lock);
  for (const path of unhashed) lock.packages[path] = await hashed(path, lock.packages[path] ?? {});
  if (missing.size + unhashed.length > 0) await writeFile(LOCK, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`Added to package-lock.json: ${missing.size} packages of other platforms, ${unhashed.length} hashes.`);
  return 0;
}

/** The packages that npm would install here without looking at what it got. */
export function withoutHash({ packages }: LockFile): string[] {
  return Object.entries(packages)
    .filter(([path, { integrity, os, cpu, libc }]) => {
      const installed = fits(HERE.os, os) && fits(HERE.cpu, cpu) && fits(HERE.libc, libc);
      return path !== "" && installed && integrity === undefined;
    })
    .map(([path]) => path);
}

/** As npm reads such a list: `!win32` is everything else. */
function fits(value: string, wanted: string | string[] = []): boolean {
  const list = [wanted].flat();
  const allowed = list.filter((one) => !one.startsWith("!"));
  return !list.includes(`!${value}`) && (allowed.length === 0 || allowed.includes(value));
}

async function hashed(path: string, { version, ...rest }: Locked): Promise<Locked> {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  const { stdout } = await promisify(execFile)("npm", ["view", `${name}@${version}`, "dist.integrity"]);
  const integrity = stdout.trim();
  if (!integrity.startsWith("sha512-")) throw new Error(`The registry has no hash of ${name}@${version}`);
  return { ...(version !== undefined && { version }), integrity, ...rest };
}

/** By the path at which each belongs. */
export function missingFromLock({ packages }: LockFile): Map<string, Locked> {
  const missing = new Map<string, Locked>();
  for (const [path, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const top = `node_modules/${name}`;
      const nested = `${path}/${top}`;
      const platform = platformOf(name);
      if (!platform || [top, nested].some((location) => (packages[location] ?? missing.get(location))?.version === version)) continue;
      missing.set(packages[top] || missing.has(top) ? nested : top, { version, ...platform, ...(dev && { dev }), optional: true });
    }
  }
  return missing;
}

/** Native packages end in their platform: `binding-linux-x64-musl`. */
function platformOf(name: string): Pick<Locked, "os" | "cpu" | "libc"> | undefined {
  if (name.endsWith("wasm32-wasi")) return { cpu: ["wasm32"] };
  const parts = name.slice(name.indexOf("/") + 1).split("-");
  const at = parts.findIndex((part) => SYSTEMS.has(part));
  const [os, cpu, flavor = ""] = parts.slice(at);
  if (at < 0 || !os || !cpu) return undefined;
  const libc = os !== "linux" ? {} : { libc: [flavor.startsWith("musl") ? "musl" : "glibc"] };
  return { os: [os], cpu: [cpu], ...libc };
}

import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";

/**
 * The processes of FRR's daemons that are in another network namespace than the one of this name: someone deleted it, and it was created anew without them. Daemons
 * in a container of their own are not seen here.
 */
export async function daemonsOutsideNamespace(runDirectory: string, netns: string): Promise<number[]> {
  const named = await stat(join("/run/netns", netns)).catch(() => undefined);
  if (!named) return [];
  const files = (await readdir(runDirectory).catch(() => [])).filter((name) => name.endsWith(".pid"));
  const strays: number[] = [];
  for (const file of files) {
    const pid = Number(await readFile(join(runDirectory, file), "utf8").catch(() => ""));
    const name = (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")).trim();
    if (!Number.isInteger(pid) || pid <= 1 || `${name}.pid` !== file) continue;
    const inside = await readlink(`/proc/${pid}/ns/net`).catch(() => undefined);
    if (inside !== undefined && inside !== `net:[${named.ino}]`) strays.push(pid);
  }
  return strays;
}

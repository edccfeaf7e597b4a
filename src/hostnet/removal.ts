import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";

export interface Removal {
  /** `Delete link vni100 in network namespace perouter` */
  readonly says: readonly string[];
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

export interface ProgramFiles {
  readonly stateDirectory: string;
  readonly frrRunDirectory: string;
  readonly stopFrr: () => Promise<void>;
}

export async function daemonRemovals({ frrRunDirectory, stopFrr }: ProgramFiles): Promise<Removal[]> {
  const running = (await readdir(frrRunDirectory).catch(() => [])).some((name) => name.endsWith(".pid"));
  return running ? [{ says: [`Stop the daemons of FRR in ${frrRunDirectory}`], run: () => stopFrr() }] : [];
}

/** Our files in the state directory; any other file is foreign. */
export async function fileRemovals({ stateDirectory }: ProgramFiles, ours: RegExp): Promise<Removal[]> {
  const files = (await readdir(stateDirectory).catch(() => [])).filter((name) => ours.test(name)).sort();
  if (files.length === 0) return [];
  return [
    ...files
      .map((name) => join(stateDirectory, name))
      .map((path) => ({ says: [`Delete ${path}`], run: () => rm(path, { recursive: true, force: true }) })),
    { says: [`Delete ${stateDirectory} if nothing else is in it`], run: () => rmdir(stateDirectory).catch(() => {}) },
  ];
}

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sweepWhenGone } from "../../lab/child.ts";
import { frr10 } from "../../lab/frr/frr10.ts";
import { progressOn } from "../../lab/progress.ts";
import { FrrInstance, type FrrInstanceOptions } from "../../src/frr/instance.ts";
import { createLog } from "../../src/kube/log.ts";
import { REMOVE_NAMESPACE } from "./namespaces.ts";

export type FrrRelease = "8.4" | "10";

/** For suites that expect the same of both. */
export const FRR_RELEASES: readonly FrrRelease[] = ["8.4", "10"];

export interface FrrInNamespace {
  readonly instance: FrrInstance;
  /** The network namespace, for `ip -n`. */
  readonly netns: string;
  /** What another FrrInstance needs to take these daemons over. */
  readonly options: FrrInstanceOptions;
  /** Ends the daemons and removes the namespace. */
  stop(): Promise<void>;
}

/** A started FRR in a network namespace of its own, with `lo` up. Both are gone with this process, however it ends. */
export async function frrInNamespace({ version, ...more }: { version: FrrRelease } & Partial<FrrInstanceOptions>): Promise<FrrInNamespace> {
  const netns = `plt${randomBytes(4).toString("hex")}`;
  const stateDirectory = await mkdtemp(join(tmpdir(), "plumbline-frr-"));
  const root = version === "10" ? await frr10(progressOn(process.stderr)) : undefined;
  const options: FrrInstanceOptions = {
    name: netns,
    netns,
    stateDirectory,
    ...(root ? { root } : {}),
    log: createLog({ level: "silent" }),
    ...more,
  };
  const instance = new FrrInstance(options);
  const remove = removeFrrWhenGone(netns, instance, stateDirectory);
  await run("ip", "netns", "add", netns);
  await run("ip", "-n", netns, "link", "set", "lo", "up");
  const stop = async () => {
    await instance.stop();
    await remove();
  };
  try {
    await instance.start(AbortSignal.timeout(60_000));
  } catch (error) {
    await stop();
    throw error;
  }
  return { instance, netns, options, stop };
}

/** Runs a command to its end and gives its output. */
export async function run(command: string, ...args: string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(" ")}: ${output}`);
  return output;
}

/** Removes an FRR and its namespace once this process is gone: the daemons outlive their starter on purpose. */
export function removeFrrWhenGone(netns: string, { name, runDirectory }: FrrInstance, directory: string): () => Promise<void> {
  // Instances of the same name share what FRR keeps by name: the last one removes it.
  const script = `${REMOVE_NAMESPACE}\nremove_namespace "$1"; rm -rf "$2" "$3"; rmdir "$4"`;
  return sweepWhenGone(script, netns, runDirectory, directory, `/run/frr/${name}`);
}

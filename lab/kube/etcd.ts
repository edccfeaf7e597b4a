import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeWhenGone, type Child } from "../child.ts";
import { LabError } from "../error.ts";
import { holderId } from "../holder.ts";
import { MEMORY_ROOT } from "../leftovers.ts";
import { startPart } from "./api-server.ts";
import type { KubeBinaries } from "./binary.ts";

const READY_WITHIN_MS = 30_000;

/** A directory in memory where the machine has one, removed with the process that asked for it. Its name tells which one that is. */
export async function memoryDirectory(name: string): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(MEMORY_ROOT, `plumbline-${name}-${holderId()}-`));
  return { path, remove: removeWhenGone(path) };
}

/** An etcd that only its own socket reaches: no port, no certificate, data gone with the directory. */
export async function startEtcd(binaries: KubeBinaries, directory: string): Promise<{ child: Child; url: string }> {
  const socket = join(directory, "etcd.sock");
  const url = `unix://${socket}`;
  const args = [
    "--name=lab",
    `--data-dir=${join(directory, "etcd")}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    "--listen-peer-urls=http://127.0.0.1:0",
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
  const child = startPart(binaries, "etcd", args, join(directory, "etcd.log"));
  const deadline = performance.now() + READY_WITHIN_MS;
  while (!existsSync(socket)) {
    if (!child.running) throw new LabError("NotStarted", `etcd ended while starting:\n${child.logTail()}`);
    if (performance.now() > deadline)
      throw new LabError("NotStarted", `etcd was not ready within ${READY_WITHIN_MS / 1000} s:\n${child.logTail()}`);
    await sleep(20);
  }
  return { child, url };
}

import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { LabError } from "../error.ts";
import type { Progress } from "../progress.ts";
import type { ControlPlane } from "./control-plane.ts";

/** The one control plane that `lab kube up` left running for this user. */
export interface Running {
  pid: number;
  /** The kernel's start time of that pid: a pid alone may by now be someone else's. */
  since: string;
  url: string;
  kubeconfig: string;
  parts: { name: string; pid: number }[];
}

const STOP_WITHIN_MS = 15_000;

function directory(): string {
  return join(process.env["XDG_RUNTIME_DIR"] || tmpdir(), `plumbline-lab-kube-${process.getuid?.() ?? 0}`);
}
const recordFile = () => join(directory(), "running.json");

export async function findRunning(): Promise<Running | undefined> {
  try {
    const running = JSON.parse(await readFile(recordFile(), "utf8")) as Running;
    return startTime(running.pid) === running.since ? running : undefined;
  } catch {
    return undefined;
  }
}

/** Called by the process that holds the control plane, once it is up. */
export async function recordRunning(plane: ControlPlane): Promise<() => Promise<void>> {
  await mkdir(directory(), { recursive: true, mode: 0o700 });
  const running: Running = {
    pid: process.pid,
    since: startTime(process.pid) ?? "",
    url: plane.server.url,
    kubeconfig: plane.kubeconfig,
    parts: [{ name: "kube-apiserver", pid: plane.server.pid }, ...plane.parts.map(({ name, pid }) => ({ name, pid }))],
  };
  await writeFile(recordFile(), JSON.stringify(running, null, 2), { mode: 0o600 });
  return () => rm(directory(), { recursive: true, force: true });
}

/** Starts a second process that holds the control plane, passes its progress on, and returns when it is up. */
export async function startInBackground(command: readonly string[], progress: Progress): Promise<Running> {
  await mkdir(directory(), { recursive: true, mode: 0o700 });
  const logFile = join(directory(), "log");
  const [program = "", ...args] = command;
  const log = openSync(logFile, "w", 0o600);
  const child = spawn(program, args, { detached: true, stdio: ["ignore", "pipe", log] });
  closeSync(log);
  if (!child.stdout) throw new Error("the child's standard output is a pipe");
  let exited = false;
  child.once("exit", () => (exited = true));
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "up") break;
    progress.step(line);
  }
  child.unref();
  child.stdout.destroy();
  const running = await findRunning();
  if (exited || !running)
    throw new LabError(
      "NotStarted",
      `The control plane did not come up:\n${readFileSync(logFile, "utf8").trim().split("\n").slice(-8).join("\n")}`,
    );
  progress.done();
  return running;
}

/** Ends it and waits until nothing of it is left. */
export async function stopRunning(running: Running): Promise<void> {
  const gone = () => startTime(running.pid) !== running.since;
  process.kill(running.pid, "SIGTERM");
  const deadline = performance.now() + STOP_WITHIN_MS;
  while (!gone() && performance.now() < deadline) await sleep(50);
  // Its parts carry a parent-death signal and its data a sweeper, so that even this leaves nothing.
  if (!gone()) process.kill(running.pid, "SIGKILL");
  await rm(directory(), { recursive: true, force: true });
}

function startTime(pid: number): string | undefined {
  try {
    // The program's name stands in brackets and may hold spaces; the start time is the twentieth field after it.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

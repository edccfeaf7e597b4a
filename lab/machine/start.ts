import { execFile } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Child } from "../child.ts";
import { LabError } from "../error.ts";
import type { Progress } from "../progress.ts";
import { Machine } from "./machine.ts";

export type Kernel = "own" | "uml";

export interface StartedMachine {
  readonly machine: Machine;
  readonly kernel: Kernel;
  /** Routers need it. */
  readonly hasVrf: boolean;
  readonly network: LabNetwork;
  /** Settles when it has ended, by itself or because it was told to; with the last lines of its console. */
  readonly gone: Promise<string>;
  stop(): Promise<void>;
}

/** The /24 that the starter, the machine and the nodes' management interfaces share. */
class LabNetwork {
  readonly #third: number;

  constructor(third: number) {
    this.#third = third;
  }

  /** One of 198.18.0.0/16, which is for tests and on no network, and which no interface of ours has yet. */
  static unused(): LabNetwork {
    const taken = new Set(
      Object.values(networkInterfaces())
        .flat()
        .map((found) => found?.address.split(".").slice(0, 3).join(".")),
    );
    for (;;) {
      const third = randomInt(256);
      if (!taken.has(`198.18.${third}`)) return new LabNetwork(third);
    }
  }

  /** The starter, where the API is served. */
  get outside(): string {
    return this.address(1);
  }

  get inside(): string {
    return this.address(2);
  }

  address(host: number): string {
    return `198.18.${this.#third}.${host}`;
  }

  get linkName(): string {
    return `pl-lab-${this.#third}`;
  }
}

const UML_PROGRAM = "linux.uml";
const CONTROL_PORT = 7000;
const READY_WITHIN_MS = 60_000;
const CHECKOUT = join(import.meta.dirname, "../..");

/** Boots the machine. It is gone with the process that called this, however that one ends. */
export async function startMachine(options: { directory: string; kernel?: Kernel; progress: Progress }): Promise<StartedMachine> {
  const { directory, progress } = options;
  if (process.getuid?.() !== 0) throw new LabError("Misuse", "The lab makes network namespaces, which only root may: run it as root");
  const ownHasVrf = await ownKernelHasVrf();
  const kernel = options.kernel ?? (ownHasVrf ? "own" : "uml");
  progress.step(kernel === "uml" ? "Booting User-Mode Linux, because this machine's kernel has no VRF" : "Making the lab's namespaces");
  const hasVrf = kernel === "uml" || ownHasVrf;
  for (;;) {
    const started = await boot({ directory, kernel, hasVrf }, LabNetwork.unused());
    if (started) return started;
  }
}

/** Nothing where another lab has taken the network meanwhile. */
async function boot(
  { directory, kernel, hasVrf }: { directory: string; kernel: Kernel; hasVrf: boolean },
  network: LabNetwork,
): Promise<StartedMachine | undefined> {
  const token = randomBytes(24).toString("hex");
  await writeFile(join(directory, "token"), token, { mode: 0o600 });
  const console = join(directory, "console.log");
  const frame = [
    "--net",
    "--",
    join(import.meta.dirname, "frame.sh"),
    kernel,
    String(process.pid),
    network.linkName,
    `${network.outside}/24`,
  ];
  const env = {
    LAB_KERNEL: kernel,
    LAB_DIRECTORY: directory,
    LAB_CHECKOUT: CHECKOUT,
    LAB_NODE: process.execPath,
    LAB_ADDRESS: network.inside,
    LAB_PORT: String(CONTROL_PORT),
  };
  const script = join(import.meta.dirname, "inside.sh");
  const command = kernel === "uml" ? umlCommand(script, env) : [script];
  const child = new Child("machine", "unshare", [...frame, ...command], {
    logFile: console,
    // User-Mode Linux keeps its memory in a file there.
    env: { ...env, TMPDIR: existsSync("/dev/shm") ? "/dev/shm" : "/tmp" },
  });
  const machine = new Machine({ address: network.inside, port: CONTROL_PORT, token });
  try {
    const died = new AbortController();
    void child.ended.then(() => died.abort());
    await machine.ready(AbortSignal.any([died.signal, AbortSignal.timeout(READY_WITHIN_MS)]));
  } catch (error) {
    await child.kill();
    if (child.logTail(1).includes("File exists")) return undefined;
    throw new LabError("NotStarted", `The lab's machine did not come up:\n${child.logTail(8)}`, error);
  }
  const stop = async () => {
    await child.kill();
    machine.close();
  };
  return {
    machine,
    kernel,
    hasVrf,
    network,
    gone: child.ended.then(() => child.logTail()).catch(() => ""),
    stop,
  };
}

function umlCommand(script: string, env: Readonly<Record<string, string>>): string[] {
  return [
    UML_PROGRAM,
    "root=/dev/root",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "mem=3G",
    `init=${quoted(script)}`,
    "vec0:transport=tap,ifname=tap0,depth=128,gro=1",
    "con0=fd:0,fd:1",
    "con=null",
    "quiet",
    // What the kernel does not know becomes the environment of its first program.
    ...Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`),
  ];
}

function quoted(text: string): string {
  return `"${text}"`;
}

export async function ownKernelHasVrf(): Promise<boolean> {
  try {
    // In a namespace that is gone again with the command.
    await promisify(execFile)("unshare", ["--net", "--", "ip", "link", "add", "probe", "type", "vrf", "table", "5"]);
    return true;
  } catch {
    return false;
  }
}

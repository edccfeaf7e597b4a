import { randomBytes, randomInt } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { cacheDirectory } from "../../src/util/cache-directory.ts";
import { Child } from "../child.ts";
import { LabError } from "../error.ts";
import type { Image } from "../kernel/images.ts";
import { type Feature, FEATURES, type KernelOptions, missingIn, onKernel, PROBE } from "../kernel/select.ts";
import type { Progress } from "../progress.ts";
import { checkHost } from "./check-host.ts";
import { Machine } from "./machine.ts";
import { startProblem } from "./start-problem.ts";

/** The kernel that a machine runs on. */
export interface MachineKernel {
  readonly own: boolean;
  /** `6.18.44`, as the kernel itself says. */
  readonly release: string;
  /** What it was seen to lack. */
  readonly missing: readonly Feature[];
}

export interface StartedMachine {
  readonly machine: Machine;
  readonly kernel: MachineKernel;
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

const CONTROL_PORT = 7000;
const READY_WITHIN_MS = 180_000;
const CHECKOUT = join(import.meta.dirname, "../..");
/** Of a User-Mode Linux; taken from the host as it is used. */
const MEMORY_GB = 3;

interface MachineOptions {
  readonly directory: string;
  /** Memory for what its starter runs beside it; nothing without. */
  readonly besideGb?: number;
  readonly progress: Progress;
}

/** Boots the machine. It is gone with the process that called this, however that one ends. */
export async function startMachine(
  options: MachineOptions & Partial<Pick<KernelOptions, "features" | "use" | "signal">>,
): Promise<StartedMachine> {
  const { use, features = ["vrf"], progress, signal } = options;
  if (process.getuid?.() !== 0) throw new LabError("Misuse", "The lab creates network namespaces, which only root may: run it as root");
  return onKernel({ features, use, progress, signal }, (image) => startOn(image, { ...options, features }));
}

async function startOn(
  image: Image | "own",
  { directory, besideGb = 0, features, progress }: MachineOptions & Pick<KernelOptions, "features">,
): Promise<StartedMachine> {
  await checkHost({ machineGb: image === "own" ? 0 : MEMORY_GB, besideGb });
  progress.step(image === "own" ? "Creating the lab's namespaces" : "Booting User-Mode Linux");
  for (;;) {
    const started = await boot({ directory, image }, LabNetwork.unused());
    if (!started) continue;
    const lacks = started.kernel.missing.filter((feature) => features.includes(feature));
    if (lacks.length === 0) return started;
    await started.stop();
    throw new LabError(
      "NotStarted",
      `Kernel ${started.kernel.release} ${lacks.map(missingFeatureText).join(" and ")}, which this lab needs`,
    );
  }
}

/** `has no VRF (routers)` */
export function missingFeatureText(feature: Feature): string {
  return `has no ${FEATURES[feature].title} (${FEATURES[feature].enables})`;
}

/** Undefined: another lab has taken the network meanwhile. */
async function boot(
  { directory, image }: { directory: string; image: Image | "own" },
  network: LabNetwork,
): Promise<StartedMachine | undefined> {
  const token = randomBytes(24).toString("hex");
  await writeFile(join(directory, "token"), token, { mode: 0o600 });
  const console = join(directory, "console.log");
  await mkdir(cacheDirectory(), { recursive: true });
  const own = image === "own";
  const frame = [
    "--net",
    "--",
    join(import.meta.dirname, "frame.sh"),
    own ? "own" : "uml",
    String(process.pid),
    network.linkName,
    `${network.outside}/24`,
  ];
  const env = {
    LAB_KERNEL: own ? "own" : "uml",
    LAB_MODULES: own ? "" : (image.modules ?? ""),
    LAB_DIRECTORY: directory,
    LAB_CACHE: cacheDirectory(),
    LAB_CHECKOUT: CHECKOUT,
    LAB_NODE: process.execPath,
    LAB_ADDRESS: network.inside,
    LAB_PORT: String(CONTROL_PORT),
  };
  const script = join(import.meta.dirname, "inside.sh");
  const command = own ? [script] : umlCommand(image, script, env);
  const child = new Child("machine", "unshare", [...frame, ...command], { logFile: console, env: { ...env, TMPDIR: directory } });
  const machine = new Machine({ address: network.inside, port: CONTROL_PORT, token });
  try {
    const died = new AbortController();
    void child.ended.then(() => died.abort());
    await machine.ready(AbortSignal.any([died.signal, AbortSignal.timeout(READY_WITHIN_MS)]));
  } catch (error) {
    await child.kill();
    if (child.logTail(1).includes("File exists")) return undefined;
    const { code, message } = startProblem(image, child.logTail(Infinity).split("\n"));
    throw new LabError(code, message, error);
  }
  const release = (await machine.do(["uname", "-r"])).trim();
  const missing = missingIn((await machine.run(PROBE)).stdout);
  const stop = async () => {
    await child.kill();
    machine.close();
  };
  return {
    machine,
    kernel: { own, release, missing },
    network,
    gone: child.ended.then(() => child.logTail()).catch(() => ""),
    stop,
  };
}

function umlCommand({ program, seccomp }: Image, script: string, env: Readonly<Record<string, string>>): string[] {
  return [
    program,
    "root=/dev/root",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    `mem=${MEMORY_GB}G`,
    // Its pid file and console socket. By default they are in the home directory, and stay there.
    `uml_dir=${env["LAB_DIRECTORY"]}/uml`,
    ...(seccomp ? ["seccomp=on"] : []),
    // Node uses io_uring, whose shared pages User-Mode Linux 7.2 frees while they are in use: "Bad page map", then a panic.
    "sysctl.kernel.io_uring_disabled=2",
    // No sit0 in every network namespace: no node has it.
    "sysctl.net.core.fb_tunnels_only_for_init_net=2",
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

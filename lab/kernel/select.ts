import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { LabError } from "../error.ts";
import type { Progress } from "../progress.ts";
import { type Image, IMAGES } from "./images.ts";

/** What some labs need and some kernels lack, with a command that fails where it is missing. */
export const FEATURES = {
  vrf: { title: "VRF", enables: "routers", probe: "ip link add probe type vrf table 5" },
  nftables: {
    title: "nftables for IP",
    enables: "kube-proxy and pods",
    probe: "nft 'add table inet probe; add chain inet probe nat { type nat hook prerouting priority 0; }'",
  },
  netem: { title: "netem", enables: "packet loss and delay on links", probe: "tc qdisc add dev lo root netem delay 1ms" },
} as const;
export type Feature = keyof typeof FEATURES;

const NAMES = Object.keys(FEATURES) as Feature[];

/** Prints the features that work, tried in a network namespace that is gone with the command. */
export const PROBE = [
  "unshare",
  "--net",
  "--",
  "sh",
  "-c",
  [...NAMES.map((name) => `${FEATURES[name].probe} >/dev/null 2>&1 && echo ${name}`), "true"].join("\n"),
];

/** What is missing by the output of the probe. */
export function missingIn(output: string): Feature[] {
  const found = new Set(output.split("\n"));
  return NAMES.filter((name) => !found.has(name));
}

export interface KernelOptions {
  /** What the lab cannot do without. */
  readonly features: readonly Feature[];
  /** `own`, `uml`, or the path of a User-Mode Linux; chosen by the needs if undefined. */
  readonly use?: string | undefined;
  readonly progress: Progress;
  /** Aborted: no other kernel is tried. */
  readonly signal?: AbortSignal | undefined;
}

/** This machine's own, a User-Mode Linux of the cache, or one that the user named. */
export type Kernel = "own" | keyof typeof IMAGES | { readonly path: string };

/**
 * Starts a lab on a kernel that has what it needs. An image that cannot be had or does not boot is named, and the next one is tried. ADR 0014 has the
 * measurements.
 */
export async function onKernel<T>(options: KernelOptions, start: (image: Image | "own") => Promise<T>): Promise<T> {
  const { features, use, progress } = options;
  const missing = use === undefined ? await missingHere() : [];
  const kernels = kernelsToTry({ features, use, missing, isBuilt: IMAGES.built.isCached() });
  return firstThatStarts(kernels, async (kernel) => start(await imageOf(kernel, progress)), options);
}

interface KernelChoice extends Pick<KernelOptions, "features" | "use"> {
  /** What this machine's own kernel lacks. */
  readonly missing: readonly Feature[];
  /** Whether our own build is in the cache. */
  readonly isBuilt: boolean;
}

/**
 * This machine's own kernel if it has what the lab needs. Otherwise User-Mode Linux: our own build; until that exists Debian testing's package; where that
 * cannot be had the package of the machine's own release. Only our own build has nftables for IP: a lab that needs it builds it.
 */
export function kernelsToTry({ features, use, missing, isBuilt }: KernelChoice): readonly Kernel[] {
  if (use === "own" || (use === undefined && !features.some((feature) => missing.includes(feature)))) return ["own"];
  if (use !== undefined && use !== "uml") return [{ path: use }];
  if (features.includes("nftables")) return ["built"];
  return isBuilt ? ["built", "packaged", "old"] : ["packaged", "old"];
}

/** Another kernel helps where one cannot be had or does not boot, and against nothing else. */
export async function firstThatStarts<T>(
  [kernel, ...others]: readonly Kernel[],
  start: (kernel: Kernel) => Promise<T>,
  options: Pick<KernelOptions, "progress" | "signal">,
): Promise<T> {
  if (kernel === undefined) throw new Error("there is no kernel to try");
  try {
    return await start(kernel);
  } catch (error) {
    const [next] = others;
    if (next === undefined || options.signal?.aborted || !isAboutKernel(error)) throw error;
    options.progress.step(`${error.message.split("\n")[0] ?? ""}; trying ${titleOf(next)}`);
    return firstThatStarts(others, start, options);
  }
}

function isAboutKernel(error: unknown): error is LabError {
  return error instanceof LabError && (error.code === "NoBinaries" || error.code === "NotBooted");
}

function titleOf(kernel: Kernel): string {
  if (kernel === "own") return "this machine's own kernel";
  return typeof kernel === "string" ? IMAGES[kernel].title : kernel.path;
}

async function imageOf(kernel: Kernel, progress: Progress): Promise<Image | "own"> {
  if (kernel === "own") return kernel;
  if (typeof kernel === "string") return IMAGES[kernel].get(progress);
  const { path } = kernel;
  if (!existsSync(path)) throw new LabError("Misuse", `Kernel image ${path} not found: give the path of a User-Mode Linux`);
  return { program: path, seccomp: true };
}

/** What this machine's own kernel lacks. */
export async function missingHere(): Promise<Feature[]> {
  const [program = "", ...args] = PROBE;
  return missingIn(
    await promisify(execFile)(program, args).then(
      ({ stdout }) => stdout,
      () => "",
    ),
  );
}

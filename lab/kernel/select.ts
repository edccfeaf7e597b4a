import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { LabError } from "../error.ts";
import type { Progress } from "../progress.ts";
import { builtImage, builtImageIfCached, type Image, oldImage, packagedImage } from "./images.ts";

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
}

/**
 * The kernel that a lab runs on. This machine's own if it has what the lab needs. Otherwise User-Mode Linux: our own build; until that exists Debian
 * testing's package; where that cannot be had the package of the machine's own release. Only our own build has nftables for IP: a lab that needs it
 * builds it. ADR 0014 has the measurements.
 */
export async function selectKernel({ features, use, progress }: KernelOptions): Promise<Image | "own"> {
  if (use !== undefined && use !== "own" && use !== "uml") {
    if (!existsSync(use)) throw new LabError("Misuse", `Kernel image ${use} not found: give the path of a User-Mode Linux`);
    return { program: use, seccomp: true };
  }
  if (use === "own") return "own";
  if (use === undefined) {
    const missing = await missingHere();
    if (!features.some((feature) => missing.includes(feature))) return "own";
  }
  const built = builtImageIfCached();
  if (built) return built;
  if (features.includes("nftables")) return builtImage(progress);
  try {
    return await packagedImage(progress);
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    progress.step(`${error.message.split("\n")[0] ?? ""}; trying the package of this Debian release`);
    return oldImage(progress);
  }
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

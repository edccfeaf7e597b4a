import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../error.ts";
import { goCommands } from "../go-commands.ts";
import type { Progress } from "../progress.ts";

export const KUBERNETES_VERSION = "v1.37.1";

export type Part =
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-scheduler"
  | "kube-proxy"
  | "kubectl"
  | "kwok"
  | "kwok-stages";

/** Where the programs of a control plane are. */
export interface KubeBinaries {
  /** The command line that runs this part, or undefined when these binaries do not bring it. */
  command(part: Part): readonly [string, ...string[]] | undefined;
}

const [, MAJOR = "", MINOR = ""] = /^v(\d+)\.(\d+)/.exec(KUBERNETES_VERSION) ?? [];
const STAMPS = { gitVersion: KUBERNETES_VERSION, gitMajor: MAJOR, gitMinor: MINOR, gitTreeState: "clean" };

/** `KUBEBUILDER_ASSETS` when set, else the cached build of these sources, else a fresh one (eight minutes on two cores, once). */
export async function kubeBinaries(progress: Progress): Promise<KubeBinaries> {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (assets) return assetsIn(assets);
  const controlPlane = {
    title: `Kubernetes ${KUBERNETES_VERSION}`,
    name: "kube",
    duration: "about eight minutes",
    module: import.meta.dirname,
    packages: ["."],
    stamps: Object.fromEntries(Object.entries(STAMPS).map(([name, value]) => [`k8s.io/component-base/version.${name}`, value])),
  };
  const binary = join(await goCommands(controlPlane, progress), "kube");
  return { command: (part) => [binary, part] };
}

async function assetsIn(directory: string): Promise<KubeBinaries> {
  const names = new Set(
    await readdir(directory).catch((cause: unknown) => {
      throw new LabError("NoBinaries", `KUBEBUILDER_ASSETS names ${directory}, which cannot be read`, cause);
    }),
  );
  for (const part of ["etcd", "kube-apiserver"]) {
    if (!names.has(part)) throw new LabError("NoBinaries", `KUBEBUILDER_ASSETS names ${directory}, which has no ${part}`);
  }
  return { command: (part) => (names.has(part) ? [join(directory, part)] : undefined) };
}

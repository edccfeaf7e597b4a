import { Background } from "../background.ts";
import type { MachineKernel } from "../machine/start.ts";
import { LabHost, type LabHostAccess } from "../net/lab-host.ts";
import type { Topology } from "../net/topology.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import type { RouterLab } from "./router-lab.ts";

/** What other commands need to know of a lab that runs. */
export interface RunningLab {
  readonly kernel: MachineKernel;
  readonly routers: boolean;
  readonly api: "embedded" | "kube";
  readonly url: string;
  readonly kubeconfig: string;
  readonly directory: string;
  /** A line that says where the page is. */
  readonly page?: string | undefined;
  readonly topology: Topology;
  readonly hosts: readonly LabHostAccess[];
}

export const background = new Background<RunningLab>("lab", "lab");

/** `User-Mode Linux 7.2.12` */
export function kernelTitle({ own, release }: MachineKernel): string {
  return own ? `this machine's kernel ${release}` : `User-Mode Linux ${release}`;
}

export async function described({ api, kernel, routers, directory, net, page }: RouterLab): Promise<RunningLab> {
  return {
    kernel,
    routers,
    api: api.embedded ? "embedded" : "kube",
    url: api.url,
    kubeconfig: api.kubeconfig,
    directory,
    page: await page,
    topology: net.topology,
    hosts: [...net.hosts.values()].map(({ access }) => access),
  };
}

export async function runningLab(): Promise<RunningLab> {
  const running = await background.find();
  if (!running) throw new CliError("No lab is running: run plumbline lab up", EXIT.no);
  return running;
}

export function hostIn(lab: RunningLab, name: string): LabHost {
  const access = lab.hosts.find((host) => host.name === name);
  if (access) return new LabHost(access);
  throw new CliError(`The lab has no ${name}, only ${lab.hosts.map((host) => host.name).join(", ")}`, EXIT.misuse);
}

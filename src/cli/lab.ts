import type { Command } from "commander";
import { kubeCommand } from "./lab/kube.ts";

export function configure(lab: Command): void {
  lab.addHelpText("after", "\nExample:\n  plumbline lab kube up\n");
  lab.addCommand(kubeCommand());
}

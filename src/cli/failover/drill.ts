import { type Command, Option } from "commander";
import { loadFromLab } from "../lab-loader.ts";
import { type PolicyOptions, withPolicy } from "./read-policy.ts";

export interface DrillOptions extends PolicyOptions {
  filename?: string[];
  timeout: string;
  output: "text" | "json";
}

export function configureDrill(command: Command): void {
  withPolicy(command)
    .argument("<policy>", "the FailoverPolicy")
    .option("-f, --filename <path...>", "from manifests instead of a cluster: files, directories, - for standard input")
    .option("--timeout <duration>", "how long each half of a move may take", "10m")
    .addOption(new Option("-o, --output <format>", "how to print the result").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Copies the policy and what it manages into two clusters on this machine, moves it to the other one and back, and takes everything away again. Where it
is copied from, nothing is written. Controllers, scheduler and claims there are real; pods end at the end of their grace period, csi-addons
is the real one, and the storage behind it and Flux take a second or two. Exit 1 when a half is not done.

Examples:
  plumbline failover drill shop -n shop
  plumbline failover drill shop -n shop -f manifests
  plumbline failover drill shop -n shop -o json
`,
    )
    .action(async (name: string, options: DrillOptions) => {
      // Only who drills needs what the lab is made of.
      const { drill } = await loadFromLab("failover-drill/run.ts");
      await drill(name, options);
    });
}

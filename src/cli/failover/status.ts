import { type Command, Option } from "commander";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { print } from "../../kube/printable.ts";
import { connect, snapshotTime } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { printItems } from "../print/items.ts";
import { colorizeFor } from "../print/color.ts";
import { drawPolicies, policyState } from "./draw-policies.ts";
import { readPolicy } from "./read-policy.ts";
import { noPolicySelected, type PolicySelectionOptions, selectPolicies, withPolicies } from "./selection.ts";

interface StatusOptions extends PolicySelectionOptions {
  output: "text" | "json";
}

export function configureStatus(command: Command): void {
  withPolicies(command)
    .argument("[policy]", "the FailoverPolicy; left out, every policy")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
One line for each policy: what it should be and is, whether it is complete and could be switched, its token, the other site, how old the copy is, its wave, and what is in
the way. COPY is on a primary the age of the oldest copy at the other site, on a secondary that of the copy here. Exit 1 when a policy is not complete, has an error or could
not be switched.

Examples:
  plumbline failover status
  plumbline failover status -l tier=gold
  plumbline failover status web -n shop -o json
`,
    )
    .action(run);
}

async function run(name: string | undefined, options: StatusOptions): Promise<void> {
  if (name !== undefined && (options.all || options.selector !== undefined))
    throw new CliError("Name a policy, or choose several with --all or -l", EXIT.misuse);
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const policies = name === undefined ? await chosen(client, options, signal) : [await readPolicy(client, name, options, signal)];
    const now = snapshotTime(client);
    const states = policies.map((policy) => policyState(policy, now));
    if (options.output === "json") printItems("FailoverPolicyState", states);
    else
      print(
        states.length === 0 ? "There is no FailoverPolicy\n" : `${drawPolicies(states, now, colorizeFor(process.stdout)).join("\n")}\n`,
      );
    if (states.some(({ fine }) => !fine)) process.exitCode = EXIT.no;
  } finally {
    client.close();
  }
}

async function chosen(
  client: Awaited<ReturnType<typeof connect>>,
  options: StatusOptions,
  signal: AbortSignal,
): Promise<readonly FailoverPolicy[]> {
  const selected = await selectPolicies(client, undefined, options, signal);
  if (selected.chosen.length === 0 && options.selector !== undefined) throw new CliError(noPolicySelected(options, selected), EXIT.no);
  return selected.chosen;
}

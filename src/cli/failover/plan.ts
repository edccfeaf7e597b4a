import { type Command, Option } from "commander";
import { print } from "../../kube/printable.ts";
import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { SwitchPlan } from "../../failover/steps/step.ts";
import { asSwitched, revertOf } from "../../failover/policy/switch-record.ts";
import { connect } from "../shared/connection.ts";
import { EXIT } from "../shared/exit.ts";
import { printItems } from "../print/items.ts";
import { type Colorize, colorizeFor } from "../print/color.ts";
import { drawPlan, isBlocked } from "./draw-plan.ts";
import { withRequestedState, livePlan } from "./live-plan.ts";
import { type PolicyOptions, readPolicy, titleOf, withPolicy } from "./read-policy.ts";
import { switchCommand } from "./switch-command.ts";
import type { PolicyFailure } from "../../failover/policy/failure.ts";
import { plural } from "../../util/text.ts";

interface PlanOptions extends PolicyOptions {
  to?: Role;
  dnsAnnotation?: string;
  output: "text" | "json";
}

export function configurePlan(command: Command): void {
  withPolicy(command)
    .argument("<policy>", "the FailoverPolicy")
    .addOption(new Option("--to <role>", "plan a switch to this role").choices(["primary", "secondary"]))
    .option("--dns-annotation <key>", "--dns-annotation of the controller, if set")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Writes nothing. Reads with your rights, not with the controller's. Exit 1 when something blocks the switch, 3 when this could not be determined.

Examples:
  plumbline failover plan web -n shop
  plumbline failover plan web -n shop --to secondary
`,
    )
    .action(run);
}

async function run(name: string, options: PlanOptions): Promise<void> {
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const policy = await readPolicy(client, name, options, signal);
    const { to = asSwitched(policy).spec.desiredState, dnsAnnotation } = options;
    const revert = options.to === undefined ? revertOf(policy) : undefined;
    const plan = await livePlan(client, withRequestedState(policy, to, policy.spec.force), { dnsAnnotation, revert, signal });
    if (options.output === "json") printItems("FailoverPlan", [itemOf(policy, plan)]);
    else print(textOf(policy, plan, options, colorizeFor(process.stdout)).join("\n"));
    if (isBlocked(plan)) process.exitCode = isUnknown(plan) ? EXIT.unknown : EXIT.no;
  } finally {
    client.close();
  }
}

function isUnknown({ rejections, failures }: SwitchPlan): boolean {
  return (
    rejections.length === 0 && failures.length > 0 && failures.every(({ reason }) => reason === "Forbidden" || reason === "ReadFailed")
  );
}

function textOf(policy: FailoverPolicy, plan: SwitchPlan, options: PlanOptions, colorize: Colorize): string[] {
  const { to, mode, currentState, steps } = plan;
  const writes = steps.reduce((sum, step) => sum + step.writes.length + (step.token ? 1 : 0), 0);
  const command = switchCommand(policy, to, options);
  const head = `FailoverPolicy ${titleOf(policy)} to ${to}, ${mode}; the site is ${currentState} now`;
  return [colorize("bold", head), "", ...drawPlan(plan, colorize), "", verdict(policy, plan, writes, command), ""];
}

function verdict({ spec }: FailoverPolicy, plan: SwitchPlan, writes: number, command: string): string {
  if (plan.complete) return `Nothing to do: the site is ${plan.to}`;
  if (plan.rejections.length > 0) return "Rejected: nothing would be written";
  if (isBlocked(plan)) return "Blocked";
  const count = plural(writes, "write");
  if (spec.desiredState === plan.to) return `In progress: ${count} left`;
  return `Ready: ${count}. Run: ${command}`;
}

function itemOf({ metadata: { name, namespace } }: FailoverPolicy, plan: SwitchPlan): object {
  return {
    namespace,
    name,
    to: plan.to,
    mode: plan.mode,
    currentState: plan.currentState,
    complete: plan.complete,
    blocked: isBlocked(plan),
    refusals: plan.rejections.map(failureItem),
    failures: plan.failures.map(failureItem),
    notes: plan.notes,
    steps: plan.steps.map(({ name: step, state, token, writes, waits }) => ({
      name: step,
      state,
      ...(token && { token }),
      writes: writes.map(({ kind, object, patch, description }) => {
        return { kind: kind.kind, namespace: object.metadata.namespace, name: object.metadata.name, words: description, patch };
      }),
      waits,
    })),
    resources: plan.resources.map(({ resource: { kind, namespace: where, name: called }, ...state }) => ({
      kind,
      namespace: where,
      name: called,
      ...state,
    })),
  };
}

function failureItem({ kind, name, namespace = "", reason, field = "", message, class: how }: PolicyFailure): object {
  return { kind, name, namespace, reason, field, message, class: how };
}

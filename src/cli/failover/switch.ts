import { createInterface } from "node:readline/promises";
import { type Command, Option } from "commander";
import { seconds } from "../../api/duration.ts";
import { FailoverPolicy, type Role } from "../../api/failover/failover-policy.ts";
import { differsFromSwitch } from "../../failover/switch-record.ts";
import { humanDuration } from "../../embedded/http/table/age.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { print, printError } from "../../kube/printable.ts";
import { connect } from "../connection.ts";
import { CliError, EXIT, failWith } from "../exit.ts";
import { paintFor } from "../printing/paint.ts";
import { drawFailures, drawNotes } from "./draw-plan.ts";
import { type Ending, follow } from "./follow.ts";
import { livePlan } from "./live-plan.ts";
import { type Asked, heldUpBy } from "./progress.ts";
import { type OwnerOptions, passOwners } from "./owner-gate.ts";
import { type PolicyOptions, readPolicy, titleOf, withPolicy } from "./read-policy.ts";
import { switchCommand } from "./switch-command.ts";
import { switchesOf } from "./switches.ts";

interface SwitchOptions extends PolicyOptions, OwnerOptions {
  to: Role;
  wait?: boolean;
  timeout: string;
  force?: boolean;
  reason?: string;
}

type Force = NonNullable<FailoverPolicy["spec"]["force"]>;

export function configureSwitch(command: Command): void {
  withPolicy(command)
    .argument("<policy>", "the FailoverPolicy")
    .addOption(new Option("--to <role>", "what this site is to be").choices(["primary", "secondary"]).makeOptionMandatory())
    .option("--wait", "show how it goes until it is done")
    .option("--timeout <duration>", "how long to watch with --wait", "30m")
    .option("--force", "become primary without the other site's release, because it is known not to write any more")
    .option("--reason <text>", "why it is forced; it is recorded")
    .option("--suspend-owner", "suspend what applies the policy from Git, as it would write the old role back")
    .option("--owner-is-changed", "Git already says the new role, so what applies the policy does not take it back")
    .addHelpText(
      "after",
      `
What is refused is said, and then nothing is changed. With --wait: exit 1 when it is refused, or not done in time; Ctrl-C stops watching, and the switch goes on.

Examples:
  plumbline failover switch web -n shop --to secondary --wait
  plumbline failover switch web -n shop --to primary --force --reason "site A has burnt down" --wait
`,
    )
    .action(run);
}

async function run(name: string, options: SwitchOptions): Promise<void> {
  const timeout = seconds(options.timeout) ?? 0;
  if (timeout <= 0) throw new CliError(`--timeout ${options.timeout} is no length of time; write 90s, 30m or 2h`, EXIT.misuse);
  if (options.reason !== undefined && !options.force) throw new CliError("--reason is for --force", EXIT.misuse);
  if (options.force && options.to !== "primary")
    throw new CliError("--force is for --to primary: nobody has to let go before a site becomes secondary", EXIT.misuse);
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const policy = await readPolicy(client, name, options, signal);
    const force = options.force ? await forceOf(policy, options) : undefined;
    if (!(await mayBegin(client, wanted(policy, options.to, force), signal))) return;
    const annotations = await passOwners(client, policy, options, signal);
    if (!annotations) return;
    const asked = await ask(client, policy, { to: options.to, force, annotations }, signal);
    const { generation = 0 } = asked.metadata;
    if (options.wait)
      tellEnding(
        await follow(client, asked, { to: options.to, generation }, { timeoutMs: timeout * 1000 }),
        { to: options.to, generation },
        options,
      );
    else print(`To see how it goes: ${switchCommand(asked, options.to, options)}\n`);
  } finally {
    client.close();
  }
}

/** Says what is wrong, and whether the rest can be done nevertheless. */
async function mayBegin(client: KubeClient, policy: FailoverPolicy, signal: AbortSignal): Promise<boolean> {
  const paint = paintFor(process.stderr);
  const { refusals, failures, notes, mode } = await livePlan(client, policy, { signal });
  if (refusals.length > 0) {
    printError(["Refused, and nothing is changed:", ...drawFailures(refusals, paint), ""].join("\n"));
    process.exitCode = EXIT.no;
    return false;
  }
  if (failures.length > 0) printError(["Wrong, and not switched until it is mended:", ...drawFailures(failures, paint), ""].join("\n"));
  if (notes.length > 0) printError([...drawNotes(notes), ""].join("\n"));
  if (mode === "unsafe") printError("Warning: mode is unsafe; no step waits for what it depends on, at the risk of the data\n");
  return true;
}

async function forceOf({ spec, status }: FailoverPolicy, { reason }: SwitchOptions): Promise<Force> {
  if (!spec.peer)
    throw new CliError("There is nothing to force: the policy has no spec.peer, so it does not wait for another site", EXIT.misuse);
  const text = (reason ?? (await askReason())).trim();
  if (text === "") throw new CliError("--force needs a reason: why is it known that the other site does not write any more?", EXIT.misuse);
  return { reason: text, epoch: status?.token?.epoch ?? 0 };
}

async function askReason(): Promise<string> {
  if (!process.stdin.isTTY) return "";
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    printError("If the other site still writes, both will, and one side's data will be lost.\n");
    return await terminal.question("Why is it known that it does not? ");
  } finally {
    terminal.close();
  }
}

function wanted(policy: FailoverPolicy, desiredState: Role, force: Force | undefined): FailoverPolicy {
  const spec = { ...policy.spec, desiredState };
  delete spec.force;
  return { ...policy, spec: force ? { ...spec, force } : spec };
}

/** Changes what is wanted, if nobody else has since it was read. A force of an earlier day goes: only who asks for it now has it. */
async function ask(
  client: KubeClient,
  policy: FailoverPolicy,
  { to, force, annotations }: { to: Role; force: Force | undefined; annotations: Record<string, string | null> },
  signal: AbortSignal,
): Promise<FailoverPolicy> {
  if (policy.spec.desiredState === to && !force && !policy.spec.force && !differsFromSwitch(policy)) {
    print(`FailoverPolicy ${titleOf(policy)} is asked to be ${to} already\n`);
    return policy;
  }
  const patch = { metadata: { annotations }, spec: { desiredState: to, force: force ?? null } };
  for (let read = policy; ;) {
    const { name, namespace = "", resourceVersion = "" } = read.metadata;
    try {
      const asked = await client.resource(FailoverPolicy).patch({ name, namespace }, patch, { resourceVersion, signal });
      print(`FailoverPolicy ${titleOf(policy)} is asked to be ${to}${force ? `, without the other site: ${force.reason}` : ""}\n`);
      return asked;
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
      read = await client.resource(FailoverPolicy).get(name, { namespace, signal });
      // Its status moves by itself; only what somebody wants, or a token that force would be about, is worth another look.
      if (read.metadata.generation === policy.metadata.generation && read.status?.token?.epoch === policy.status?.token?.epoch) continue;
      throw new CliError(`FailoverPolicy ${titleOf(policy)} was changed at this moment; look at it again, nothing is done`, EXIT.no, {
        cause: error,
      });
    }
  }
}

function tellEnding({ is, message = "", policy }: Ending, asked: Asked, options: SwitchOptions): void {
  const title = `FailoverPolicy ${titleOf(policy)}`;
  if (is === "complete")
    print([`${title} is ${asked.to}${figures(policy)}`, ...drawNotes(policy.status?.workloadStatuses ?? []), ""].join("\n"));
  else if (is === "refused") failWith(`${title} is refused: ${message}`, EXIT.no);
  else if (is === "superseded") failWith(`${title} is asked to be ${policy.spec.desiredState} by now`, EXIT.no);
  else if (is === "deleted") failWith(`${title} was deleted`, EXIT.no);
  else if (is === "timeout")
    failWith(
      `${title} is not ${asked.to} yet: ${heldUpBy(policy, asked, Date.now())}. The switch goes on; to see it again: ${switchCommand(policy, asked.to, options)}`,
      EXIT.no,
    );
  else failWith(`Stopped watching; the switch goes on. To see it again: ${switchCommand(policy, asked.to, options)}`, EXIT.unknown);
}

/** `, after 34s; the last copy was 12s old when writes stopped` */
function figures(policy: FailoverPolicy): string {
  const [made] = switchesOf(policy);
  const took = made?.seconds === undefined ? "" : `, after ${humanDuration(made.seconds * 1000)}`;
  return `${took}${made?.lossSeconds === undefined ? "" : `; the last copy was ${humanDuration(made.lossSeconds * 1000)} old when writes stopped`}`;
}

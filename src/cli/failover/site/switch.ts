import { type Command, Option } from "commander";
import { seconds } from "../../../util/duration.ts";
import type { FailoverPolicy, Role } from "../../../api/failover/failover-policy.ts";
import { humanDuration } from "../../../util/age.ts";
import { Peers } from "../../../failover/token/peers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { print, printError } from "../../../kube/printable.ts";
import { connect } from "../../shared/connection.ts";
import { CliError, EXIT, failWith } from "../../shared/exit.ts";
import { colorizeFor } from "../../print/color.ts";
import { requestSwitch, requestText } from "../ask.ts";
import { drawFailures, drawNotes } from "../draw-plan.ts";
import { type WatchResult, follow } from "../follow.ts";
import { reasonFor } from "../force.ts";
import { type Preflight, preflight } from "../preflight.ts";
import { type RequestedTransition, blockedBy } from "../progress.ts";
import { mustNotContradict, type OwnerOptions, suspendOwners } from "../owner-gate.ts";
import { readPolicy, titleOf } from "../read-policy.ts";
import { type PolicySelectionOptions, withPolicies } from "../selection.ts";
import { switchSite } from "./switch-site.ts";
import { switchCommand } from "../switch-command.ts";
import { switchesOf } from "../transitions.ts";

export interface SwitchOptions extends PolicySelectionOptions, OwnerOptions {
  to: Role;
  wait?: boolean;
  timeout: string;
  waveTimeout: string;
  skipRefused?: boolean;
  force?: boolean;
  reason?: string;
  evenThoughItAnswers?: boolean;
  output: "text" | "json";
}

export function configureSwitch(command: Command): void {
  withPolicies(command)
    .argument("[policy]", "the FailoverPolicy")
    .addOption(new Option("--to <role>", "the role of this site").choices(["primary", "secondary"]).makeOptionMandatory())
    .option("--wait", "follow the switch until it is done")
    .option("--timeout <duration>", "how long to watch with --wait", "30m")
    .option("--wave-timeout <duration>", "with several policies: start the next wave after this time, even if a policy is not done", "10m")
    .option("--skip-refused", "with several policies: switch the others when some are rejected")
    .option("--force", "become primary without the other site's release, because it has stopped writing")
    .option("--reason <text>", "why it is forced; recorded in the policy")
    .option("--even-though-it-answers", "with --force: even while the other site answers and may write")
    .addOption(new Option("-o, --output <format>", "how to print the result").choices(["text", "json"]).default("text"))
    .option("--suspend-owner", "suspend the GitOps object that applies the policy and would write the old role back")
    .option("--owner-is-changed", "Git already has the new role, so the GitOps object does not revert it")
    .addHelpText(
      "after",
      `
A rejected switch changes nothing. With --wait: exit 1 when it is rejected, or not done in time; Ctrl-C stops watching, and the switch goes on.
--all and -l switch several policies, in the order of spec.wave: to primary the lowest first, to secondary the highest first. All are checked before the first is
changed. The same command again goes on where it was. Exit 0 when all are done, 1 when some are not, 3 when it could not be found out.

Examples:
  plumbline failover switch web -n shop --to secondary --wait
  plumbline failover switch web -n shop --to primary --force --reason "site A has no power" --wait
  plumbline failover switch --all --to secondary --wait
  plumbline failover switch -l tier=gold -n shop --to primary --wait
`,
    )
    .action(run);
}

async function run(name: string | undefined, options: SwitchOptions): Promise<void> {
  const several = options.all === true || options.selector !== undefined;
  if (several === (name !== undefined)) throw new CliError("Name a policy, or choose several with --all or -l", EXIT.misuse);
  const timeoutMs = lengthOf("--timeout", options.timeout);
  const waveTimeoutMs = lengthOf("--wave-timeout", options.waveTimeout);
  if (options.reason !== undefined && !options.force) throw new CliError("--reason requires --force", EXIT.misuse);
  if (options.evenThoughItAnswers && !options.force) throw new CliError("--even-though-it-answers requires --force", EXIT.misuse);
  if (options.force && options.to !== "primary") throw new CliError("--force requires --to primary", EXIT.misuse);
  mustNotContradict(options);
  const client = await connect(options);
  try {
    if (name === undefined || options.output === "json") await switchSite(client, name, options, { timeoutMs, waveTimeoutMs });
    else await switchOne(client, name, options, timeoutMs);
  } finally {
    client.close();
  }
}

function lengthOf(flag: string, text: string): number {
  const length = seconds(text) ?? 0;
  if (length <= 0) throw new CliError(`${flag} ${text} is not a duration; use 90s, 30m or 2h`, EXIT.misuse);
  return length * 1000;
}

async function switchOne(client: KubeClient, name: string, given: SwitchOptions, timeoutMs: number): Promise<void> {
  const { to } = given;
  const { signal } = new AbortController();
  const policy = await readPolicy(client, name, given, signal);
  const options = given.force ? { ...given, reason: await reasonFor(given) } : given;
  const found = await checked(client, policy, options, signal);
  if (!mayBegin(found)) return;
  const annotations = await suspendOwners(client, policy, found.owners, { ...options, say: print }, signal);
  const answer = await requestSwitch(client, policy, { to, force: found.force, annotations }, signal);
  print(`${requestText(answer, to, found.force)}\n`);
  const { generation = 0 } = answer.policy.metadata;
  if (options.wait) tellEnding(await follow(client, answer.policy, { to, generation }, { timeoutMs }), { to, generation }, options);
  else print(`Follow it with: ${switchCommand(answer.policy, to, options)}\n`);
}

async function checked(client: KubeClient, policy: FailoverPolicy, options: SwitchOptions, signal: AbortSignal): Promise<Preflight> {
  const peers = new Peers(client);
  try {
    return await preflight(client, policy, { ...options, peers, signal });
  } finally {
    peers.close();
  }
}

/** Prints what is wrong; returns whether the switch can begin nevertheless. */
function mayBegin({ rejections, failures, notes, findings, mode }: Preflight): boolean {
  const colorize = colorizeFor(process.stderr);
  if (rejections.length > 0) {
    printError(["Rejected; nothing was changed:", ...drawFailures(rejections, colorize), ""].join("\n"));
    process.exitCode = EXIT.no;
    return false;
  }
  if (failures.length > 0) printError(["Blocked until fixed:", ...drawFailures(failures, colorize), ""].join("\n"));
  for (const note of notes) printError(`${note}\n`);
  if (findings.length > 0) printError([...drawNotes(findings), ""].join("\n"));
  if (mode === "unsafe") printError("Warning: mode is unsafe: no step waits for the one before, and data can be lost\n");
  return true;
}

function tellEnding({ is, message = "", policy }: WatchResult, requested: RequestedTransition, options: SwitchOptions): void {
  const title = `FailoverPolicy ${titleOf(policy)}`;
  if (is === "complete")
    print([`${title} is ${requested.to}${figures(policy)}`, ...drawNotes(policy.status?.workloadStatuses ?? []), ""].join("\n"));
  else if (is === "refused") failWith(`${title} is rejected: ${message}`, EXIT.no);
  else if (is === "superseded") failWith(`${title}: desiredState is now ${policy.spec.desiredState}`, EXIT.no);
  else if (is === "deleted") failWith(`${title} was deleted`, EXIT.no);
  else if (is === "timeout")
    failWith(
      `${title} is not ${requested.to} yet: ${blockedBy(policy, requested, Date.now())}. The switch continues; watch again with: ${switchCommand(policy, requested.to, options)}`,
      EXIT.no,
    );
  else failWith(`Stopped watching; the switch continues. Watch again with: ${switchCommand(policy, requested.to, options)}`, EXIT.unknown);
}

/** `, after 34s; the last copy was 12s old when writes stopped` */
function figures(policy: FailoverPolicy): string {
  const [made] = switchesOf(policy);
  const took = made?.seconds === undefined ? "" : `, after ${humanDuration(made.seconds * 1000)}`;
  return `${took}${made?.lossSeconds === undefined ? "" : `; the last copy was ${humanDuration(made.lossSeconds * 1000)} old when writes stopped`}`;
}

import type { FailoverPolicy, Role } from "../../../api/failover/failover-policy.ts";
import type { SharedReads } from "../../../failover/observe/live-reader.ts";
import { ServedKinds } from "../../../failover/observe/served-kinds.ts";
import { Peers } from "../../../failover/token/peers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { print, printError } from "../../../kube/printable.ts";
import { CliError, EXIT, failWith } from "../../shared/exit.ts";
import { printItems } from "../../print/items.ts";
import { colorizeFor } from "../../print/color.ts";
import { warn } from "../../print/warn.ts";
import { untilStopped } from "../../shared/signals.ts";
import { drawFailures, drawNotes } from "../draw-plan.ts";
import { suspendOwners } from "../owner-gate.ts";
import { reasonFor } from "../force.ts";
import { type Preflight, preflight } from "../preflight.ts";
import { transitionState } from "../progress.ts";
import { titleOf } from "../read-policy.ts";
import type { SwitchOptions } from "./switch.ts";
import { siteCommand, switchCommand } from "../switch-command.ts";
import { drive, type DriveResult, each } from "./drive.ts";
import { type SiteMember, stateOf } from "./member.ts";
import { noPolicySelected, selectPolicies } from "../selection.ts";
import { memberItem, blockedItem, summaryLines } from "./summary.ts";
import { lineView, tableView } from "./draw-site.ts";
import { noView } from "../live-screen.ts";
import { waveOf, wavesOf } from "../waves.ts";

const KIND = "FailoverSiteSwitch";
/** Each check reads a policy's resources and its peer. */
const CHECKED_AT_ONCE = 8;

interface Times {
  readonly timeoutMs: number;
  readonly waveTimeoutMs: number;
}

export async function switchSite(client: KubeClient, name: string | undefined, given: SwitchOptions, times: Times): Promise<void> {
  const { signal } = new AbortController();
  const { to, output } = given;
  const selected = await selectPolicies(client, name, given, signal);
  if (selected.chosen.length === 0) throw new CliError(noPolicySelected(given, selected), EXIT.no);
  const waves = wavesOf(
    selected.chosen.map((policy) => ({ policy })),
    to,
  );
  if (waves.length > 1 && !given.wait) {
    const numbers = waves.map(({ number }) => number).join(", ");
    throw new CliError(
      `The policies are in several waves (${numbers}): add --wait, because each wave waits for the one before`,
      EXIT.misuse,
    );
  }
  const options = given.force ? { ...given, reason: await reasonFor(given) } : given;

  const found = await preflightAll(client, selected, options, signal);
  const rejected = found.filter(({ rejections }) => rejections.length > 0);
  if (rejected.length > 0 && (!options.skipRefused || rejected.length === found.length))
    return reportRejected(rejected, found.length, options);
  tellFound(found);

  const members: SiteMember[] = [];
  const say = output === "json" ? printError : print;
  for (const one of found.filter(({ rejections }) => rejections.length === 0)) {
    members.push(memberOf(one, to, await suspendOwners(client, one.policy, one.owners, { ...options, say }, signal)));
  }
  const ending = await drive(client, members, {
    to,
    namespace: name === undefined ? options.namespace : selected.chosen[0]?.metadata.namespace,
    ...times,
    wait: options.wait === true,
    view: output === "json" ? noView : process.stdout.isTTY && options.wait ? tableView(to) : lineView,
    stopped: untilStopped(),
  });
  tellEnding(members, rejected, ending, options);
}

async function preflightAll(
  client: KubeClient,
  { chosen, among }: { chosen: readonly FailoverPolicy[]; among: readonly FailoverPolicy[] },
  options: SwitchOptions,
  signal: AbortSignal,
): Promise<Preflight[]> {
  const peers = new Peers(client);
  const served = new ServedKinds(client);
  const reads: SharedReads = new Map();
  try {
    return await each(chosen, CHECKED_AT_ONCE, (policy) => preflight(client, policy, { ...options, among, peers, served, reads, signal }));
  } finally {
    peers.close();
  }
}

function memberOf({ policy, force }: Preflight, to: Role, annotations: SiteMember["annotations"]): SiteMember {
  const { generation = 0 } = policy.metadata;
  return { policy, force, annotations, wasComplete: !force && transitionState(policy, { to, generation }).is === "complete" };
}

function reportRejected(rejected: readonly Preflight[], total: number, { to, output }: SwitchOptions): void {
  process.exitCode = EXIT.no;
  if (output === "json") {
    printItems(
      KIND,
      rejected.map((one) => blockedItem(one, to, one.rejections)),
    );
    return;
  }
  const hint = rejected.length < total ? "; --skip-refused switches the others" : "";
  const head = `${rejected.length} of ${total} policies are rejected; nothing was changed${hint}:`;
  printError([head, ...rejectionLines(rejected), ""].join("\n"));
}

function rejectionLines(rejected: readonly Preflight[]): string[] {
  const colorize = colorizeFor(process.stderr);
  return rejected.flatMap(({ policy, rejections }) => [`FailoverPolicy ${titleOf(policy)}:`, ...drawFailures(rejections, colorize)]);
}

function tellFound(found: readonly Preflight[]): void {
  const colorize = colorizeFor(process.stderr);
  const rejected = found.filter(({ rejections }) => rejections.length > 0);
  if (rejected.length > 0) printError([`${rejected.length} rejected and not changed:`, ...rejectionLines(rejected), ""].join("\n"));
  const begun = found.filter(({ rejections }) => rejections.length === 0);
  for (const { policy, failures, notes, mode } of begun) {
    for (const note of notes) printError(`${titleOf(policy)}: ${note}\n`);
    if (failures.length > 0) printError([`${titleOf(policy)}: blocked until fixed:`, ...drawFailures(failures, colorize), ""].join("\n"));
    if (mode === "unsafe") warn(`${titleOf(policy)}: mode is unsafe: no step waits for the one before, and data can be lost`);
  }
  const known = drawNotes(begun.flatMap(({ findings }) => findings));
  if (known.length > 0) printError([...known, ""].join("\n"));
}

function tellEnding(members: readonly SiteMember[], rejected: readonly Preflight[], ending: DriveResult, options: SwitchOptions): void {
  const { to, wait, output } = options;
  const now = Date.now();
  const failed = rejected.length > 0 || members.some(({ lost }) => lost);
  const done = wait ? members.every((member) => stateOf(member) === "complete") : true;
  process.exitCode = ending === "stopped" ? EXIT.unknown : failed || !done ? EXIT.no : EXIT.fine;
  const [only] = members;
  const isChosen = options.all === true || options.selector !== undefined;
  const again = isChosen || !only ? siteCommand(to, options) : switchCommand(only.policy, to, options);
  if (output === "json") {
    if (ending === "stopped") failWith(stoppedText(members, again), EXIT.unknown);
    printItems(KIND, [
      ...members.map((member) => memberItem(member, to, now)),
      ...rejected.map((one) => blockedItem(one, to, one.rejections)),
    ]);
    return;
  }
  if (!wait) print(`Follow it with: ${again}\n`);
  else if (ending === "stopped") failWith(stoppedText(members, again), EXIT.unknown);
  else print(`${summaryLines(members, to, now).join("\n")}\n`);
  if (ending === "timeout")
    failWith(`Stopped watching after ${options.timeout}; started switches continue. Watch again with: ${again}`, EXIT.no);
}

function stoppedText(members: readonly SiteMember[], again: string): string {
  const later = members.filter((member) => stateOf(member) === "later");
  const numbers = [...new Set(later.map(({ policy }) => waveOf(policy)))].join(", ");
  const rest = later.length === 0 ? "" : ` Not started: ${later.map(({ policy }) => titleOf(policy)).join(", ")} (wave ${numbers}).`;
  return `Stopped watching; started switches continue.${rest} Continue with: ${again}`;
}

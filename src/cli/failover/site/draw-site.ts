import { humanDuration } from "../../../util/age.ts";
import { type TextCell, Columns, stripControlCharacters } from "../../print/columns.ts";
import { type Color, type Colorize, colorizeFor } from "../../print/color.ts";
import { titleOf } from "../read-policy.ts";
import { waitText } from "../draw-steps.ts";
import { type SiteMember, type MemberState, blockerOf, stateOf, switchOf } from "./member.ts";
import { waveOf } from "../waves.ts";
import type { Role } from "../../../api/failover/failover-policy.ts";
import { screenView, tellLine } from "../live-screen.ts";
import { progressLines } from "../progress.ts";
import type { SiteView } from "./drive.ts";

const STATES: Readonly<Record<MemberState, { readonly text: string; readonly color?: Color }>> = {
  later: { text: "Later" },
  unseen: { text: "Requested", color: "yellow" },
  running: { text: "Running", color: "yellow" },
  error: { text: "Error", color: "red" },
  complete: { text: "Complete", color: "green" },
  refused: { text: "Rejected", color: "red" },
  superseded: { text: "Superseded", color: "red" },
  failed: { text: "Failed", color: "red" },
  deleted: { text: "Deleted", color: "red" },
};
/** Members that need attention come first if the screen is too small. */
const ORDER: readonly MemberState[] = ["refused", "failed", "deleted", "superseded", "error", "running", "unseen", "later", "complete"];
const HEAD = ["NAME", "WAVE", "STATE", "STEP", "TOOK", "WAITS FOR"];
const LONGEST = 100;

export function drawSite(members: readonly SiteMember[], now: number, colorize: Colorize, most = Infinity): string[] {
  const fits = members.length <= most;
  const visible = fits ? members : members.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, most - 1);
  const lines = new Columns(colorize).lines([HEAD.map((text) => ({ text })), ...visible.map((member) => rowOf(member, now))]);
  const rest = members.filter((member) => !visible.includes(member));
  const complete = rest.filter((member) => stateOf(member) === "complete").length;
  return fits ? lines : [...lines, `and ${rest.length} more, ${complete} of them complete`];
}

function rankOf(member: SiteMember): number {
  return ORDER.indexOf(stateOf(member));
}

function rowOf(member: SiteMember, now: number): TextCell[] {
  const state = stateOf(member);
  const { text, color } = STATES[state];
  const step = switchOf(member)?.course?.find((one) => one.state !== "Done");
  const waits = state === "complete" || state === "later" ? "" : step?.waitingFor ? waitText(step, now) : "";
  return [
    { text: titleOf(member.policy) },
    { text: String(waveOf(member.policy)) },
    { text, color },
    { text: state === "complete" ? "" : (step?.name ?? "") },
    { text: tookText(member, now) },
    { text: shorter(waits === "" && (state === "error" || color === "red") ? blockerOf(member, now) : waits) },
  ];
}

function tookText(member: SiteMember, now: number): string {
  const made = switchOf(member);
  if (!made || member.wasComplete) return "";
  const end = made.completionTime === undefined ? now : Date.parse(made.completionTime);
  return humanDuration(Math.max(0, end - Date.parse(made.startTime)));
}

function shorter(text: string): string {
  const line = stripControlCharacters(text);
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 3)}...` : line;
}

/** Lines above and below the table. */
const AROUND = 4;

export function tableView(to: Role): SiteView {
  const began = Date.now();
  const colorize = colorizeFor(process.stdout);
  const lines = (members: readonly SiteMember[], most?: number) => {
    const complete = members.filter((member) => stateOf(member) === "complete").length;
    const head = `Site to ${to}: ${complete} of ${members.length} complete, ${humanDuration(Date.now() - began)}`;
    return [colorize("bold", head), "", ...drawSite(members, Date.now(), colorize, most)];
  };
  return screenView({
    lines: (members, height) => lines(members, Math.max(3, height - AROUND)),
    last: (members) => lines(members),
    hint: "Ctrl-C stops watching; started switches continue.",
  });
}

export const lineView: SiteView = {
  show(_members, changed) {
    if (!changed?.member.requested) return;
    const { member, before } = changed;
    for (const line of progressLines(before, member.policy, changed.member.requested, Date.now()))
      tellLine(`${titleOf(member.policy)}: ${line}`);
  },
  tell: tellLine,
  close: () => undefined,
};

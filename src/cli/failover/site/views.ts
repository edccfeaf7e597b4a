import type { Role } from "../../../api/failover/failover-policy.ts";
import { humanDuration } from "../../../util/age.ts";
import { colorizeFor } from "../../print/color.ts";
import { liveScreen, tellLine } from "../live-screen.ts";
import { progressLines } from "../progress.ts";
import { titleOf } from "../read-policy.ts";
import { drawSite } from "./draw-site.ts";
import type { SiteView } from "./drive.ts";
import { type SiteMember, stateOf } from "./member.ts";

/** Head and blank line above the table, and what drawSite says below it. */
const AROUND = 4;

/** One table that follows along. */
export function tableView(to: Role): SiteView {
  const began = Date.now();
  const colorize = colorizeFor(process.stdout);
  let members: readonly SiteMember[] = [];
  const head = () => {
    const complete = members.filter((member) => stateOf(member) === "complete").length;
    return colorize("bold", `Site to ${to}: ${complete} of ${members.length} complete, ${humanDuration(Date.now() - began)}`);
  };
  const screen = liveScreen({
    lines: (height) => [head(), "", ...drawSite(members, Date.now(), colorize, Math.max(3, height - AROUND))],
    last: () => [head(), "", ...drawSite(members, Date.now(), colorize)],
    hint: "Ctrl-C stops watching; started switches continue.",
  });
  return {
    show(all) {
      members = all;
      screen.draw();
    },
    tell: screen.tell,
    close: screen.close,
  };
}

/** A line for each change, for logs and pipes. */
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

/** For `-o json`, which prints the result alone. */
export const noView: SiteView = { show: () => undefined, tell: () => undefined, close: () => undefined };

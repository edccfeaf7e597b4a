import type { Role } from "../../../api/failover/failover-policy.ts";
import { humanDuration } from "../../../util/age.ts";
import { colorizeFor } from "../../print/color.ts";
import { screenView, tellLine } from "../live-screen.ts";
import { progressLines } from "../progress.ts";
import { titleOf } from "../read-policy.ts";
import { drawSite } from "./draw-site.ts";
import type { SiteView } from "./drive.ts";
import { type SiteMember, stateOf } from "./member.ts";

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

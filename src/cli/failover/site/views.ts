import type { Role } from "../../../api/failover/failover-policy.ts";
import { humanDuration } from "../../../util/age.ts";
import { print } from "../../../kube/printable.ts";
import { paintFor } from "../../print/color.ts";
import { Screen } from "../../live-view/screen.ts";
import { news } from "../progress.ts";
import { titleOf } from "../read-policy.ts";
import { drawSite } from "./draw-site.ts";
import type { SiteView } from "./drive.ts";
import { type Member, stateOf } from "./member.ts";

const TICK_MS = 1_000;
/** Head, blank lines and the last sentences around the table. */
const AROUND = 7;

/** One table that follows along, on the terminal's second screen; what it showed last stays on the first. */
export function tableView(to: Role): SiteView {
  const began = Date.now();
  const screen = new Screen(process.stdout);
  const paint = paintFor(process.stdout);
  let members: readonly Member[] = [];
  let told = "";
  const head = () => {
    const complete = members.filter((member) => stateOf(member) === "complete").length;
    return paint("bold", `Site to ${to}: ${complete} of ${members.length} complete, ${humanDuration(Date.now() - began)}`);
  };
  const draw = () => {
    const table = drawSite(members, Date.now(), paint, Math.max(3, screen.height - AROUND));
    screen.draw([head(), "", ...table, "", told, "Ctrl-C stops watching; what was started goes on."]);
  };
  const tick = setInterval(draw, TICK_MS);
  return {
    show(all) {
      members = all;
      draw();
    },
    tell(line) {
      told = line;
      draw();
    },
    close() {
      clearInterval(tick);
      screen.close();
      print([head(), "", ...drawSite(members, Date.now(), paint), ""].join("\n"));
    },
  };
}

/** A line for each change, for logs and pipes. */
export const lineView: SiteView = {
  show(_members, changed) {
    if (!changed?.member.asked) return;
    const { member, before } = changed;
    for (const line of news(before, member.policy, changed.member.asked, Date.now())) tell(`${titleOf(member.policy)}: ${line}`);
  },
  tell,
  close: () => undefined,
};

function tell(line: string): void {
  print(`${new Date().toLocaleTimeString("en-GB")} ${line}\n`);
}

/** For `-o json`, which prints the result alone. */
export const noView: SiteView = { show: () => undefined, tell: () => undefined, close: () => undefined };

import { type Command, Option } from "commander";
import type { Places } from "../../explain/explainers.ts";
import { type ConnectionOptions, withLooking } from "../shared/connection.ts";
import { EXIT } from "../shared/exit.ts";
import { warn } from "../print/warn.ts";
import type { ReadGraph } from "../why/read-graph.ts";

export interface ExplainingOptions extends ConnectionOptions, Places {
  output: "text" | "json";
}

/** The options of every command that asks the cause graph. */
export function withExplaining(command: Command): Command {
  return withLooking(command)
    .option("--router-namespace <name>", "where router configuration counts", "openperouter-system")
    .option("--metallb-namespace <name>", "where load balancer configuration counts", "metallb-system")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"));
}

/** What is wrong is wrong whatever else there may be; that nothing is can only be said of what was read. */
export function exitCodeFor(isWrong: boolean, { unread }: Pick<ReadGraph, "unread">): number {
  if (isWrong) return EXIT.no;
  return unread.length > 0 ? EXIT.unknown : EXIT.fine;
}

export function warnOfUnread({ unread }: ReadGraph): void {
  for (const { kind, why } of unread) warn(`what ${kind} objects say is missing: ${why}`);
}

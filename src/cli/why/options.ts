import { type Command, Option } from "commander";
import type { ConfigNamespaces } from "../../explain/explainers.ts";
import { type ConnectionOptions, withReadSource } from "../shared/connection.ts";
import { EXIT } from "../shared/exit.ts";
import { warn } from "../print/warn.ts";
import type { ReadGraph } from "./read-graph.ts";

export interface ExplainingOptions extends ConnectionOptions, ConfigNamespaces {
  output: "text" | "json";
}

/** The options of every command that asks the cause graph. */
export function withExplaining(command: Command): Command {
  return withReadSource(command)
    .option("--router-namespace <name>", "namespace of the router's configuration", "openperouter-system")
    .option("--metallb-namespace <name>", "namespace of the load balancer's configuration", "metallb-system")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"));
}

/** A problem is a problem even if some kinds were not read; "no problems" needs all of them. */
export function exitCodeFor(isWrong: boolean, { unread }: Pick<ReadGraph, "unread">): number {
  if (isWrong) return EXIT.no;
  return unread.length > 0 ? EXIT.unknown : EXIT.fine;
}

export function warnOfUnread({ unread }: ReadGraph): void {
  for (const { kind, why } of unread) warn(`${kind} objects were not read: ${why}`);
}

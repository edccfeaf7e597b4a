import type { Command } from "commander";
import { configureDrill } from "../failover/drill.ts";
import { configureForgetPeer } from "../failover/forget-peer.ts";
import { configureHistory } from "../failover/history.ts";
import { configurePlan } from "../failover/plan.ts";
import { configureStatus } from "../failover/status.ts";
import { configureSwitch } from "../failover/site/switch.ts";

export function configure(command: Command): void {
  command.addHelpText(
    "after",
    `
A FailoverPolicy says whether a cluster is the primary or the secondary site of an application.

Examples:
  plumbline failover status
  plumbline failover plan web -n shop --to secondary
  plumbline failover switch web -n shop --to secondary --wait
  plumbline failover switch --all --to primary --wait
  plumbline failover history web -n shop
  plumbline failover drill web -n shop
`,
  );
  configureStatus(command.command("status").description("Show each policy in one line: role, readiness and problems."));
  configurePlan(command.command("plan").description("Show the steps of a switch in order, and what blocks them."));
  configureSwitch(command.command("switch").description("Make this site primary or secondary, for one policy or for many."));
  configureHistory(command.command("history").description("Show the latest switches: duration and possible data loss."));
  configureDrill(command.command("drill").description("Try a policy on a copy: switch between two sites on this machine and back."));
  configureForgetPeer(command.command("forget-peer").description("Remove the other site and the token of a policy permanently."));
}

import type { Command } from "commander";
import { configureDrill } from "../failover/drill.ts";
import { configureForgetPeer } from "../failover/forget-peer.ts";
import { configureHistory } from "../failover/history.ts";
import { configurePlan } from "../failover/plan.ts";
import { configureStatus } from "../failover/status.ts";
import { configureSwitch } from "../failover/switch.ts";

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
  configureStatus(command.command("status").description("Show every policy in one line: what it is, and what is in the way."));
  configurePlan(command.command("plan").description("Show what would be done, in its order, and what is in the way."));
  configureSwitch(command.command("switch").description("Make this site the primary or the secondary one, for one policy or for many."));
  configureHistory(command.command("history").description("Show the latest switches: how long they took, and what they could have lost."));
  configureDrill(command.command("drill").description("Try a policy on a copy: two sites on this machine, there and back."));
  configureForgetPeer(command.command("forget-peer").description("Give up the other site and the token of a policy for good."));
}

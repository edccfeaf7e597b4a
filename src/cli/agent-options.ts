import { hostname } from "node:os";
import type { Command } from "commander";

/** Where the router of a machine is, and what it is kept in. */
export interface RouterPlaceOptions {
  routerNetns: string;
  hostNetns?: string;
  stateDirectory: string;
  frrRunDirectory: string;
  frrRoot?: string;
}

export const ROUTER_PLACE: RouterPlaceOptions = {
  routerNetns: "perouter",
  stateDirectory: "/var/lib/plumbline",
  frrRunDirectory: "/run/frr/plumbline-router",
};

/** FRR's pathspace: `vtysh -N plumbline-router` speaks to this router. */
export const FRR_NAME = "plumbline-router";

/** The options of every command that touches or looks at the router of this machine. */
export function withRouterPlace(command: Command): Command {
  return command
    .option("--router-netns <name>", "the network namespace that the router runs in", ROUTER_PLACE.routerNetns)
    .option("--host-netns <name>", "a network namespace that stands for the machine's own, as in the lab")
    .option("--state-directory <directory>", "what the router must remember over restarts", ROUTER_PLACE.stateDirectory)
    .option("--frr-run-directory <directory>", "where FRR's daemons have their sockets", ROUTER_PLACE.frrRunDirectory)
    .option("--frr-root <directory>", "use the FRR of another root file system");
}

export function withNode(command: Command): Command {
  return command.option("--node <name>", "the name of this machine's Node", process.env["NODE_NAME"] ?? hostname());
}

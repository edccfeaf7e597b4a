import { hostname } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parseAddress } from "../../ip/address.ts";
import { IpError } from "../../ip/error.ts";
import { parsePrefix, Prefix } from "../../ip/prefix.ts";

export interface RouterHostOptions {
  routerNetns: string;
  hostNetns?: string;
  stateDirectory: string;
  frrRunDirectory: string;
  frrRoot?: string;
}

export const ROUTER_HOST_DEFAULTS: RouterHostOptions = {
  routerNetns: "perouter",
  stateDirectory: "/var/lib/plumbline",
  frrRunDirectory: "/run/frr/plumbline-router",
};

/** FRR's pathspace: `vtysh -N plumbline-router` connects to this router. */
export const FRR_NAME = "plumbline-router";

/** For every command that reads or changes the router of this machine. */
export function withRouterHostOptions(command: Command): Command {
  return command
    .option("--router-netns <name>", "network namespace of the router", ROUTER_HOST_DEFAULTS.routerNetns)
    .option("--host-netns <name>", "use this network namespace as the host's (for the lab)")
    .option("--state-directory <directory>", "directory for state that survives restarts", ROUTER_HOST_DEFAULTS.stateDirectory)
    .option("--frr-run-directory <directory>", "directory of the FRR daemons' sockets", ROUTER_HOST_DEFAULTS.frrRunDirectory)
    .option("--frr-root <directory>", "root file system with the FRR to use");
}

export function withNode(command: Command): Command {
  return command.option("--node <name>", "name of this machine's Node", process.env["NODE_NAME"] ?? hostname());
}

export interface LoadBalancerHostOptions {
  metallbNamespace: string;
  lbFrrRunDirectory: string;
  lbClass?: string;
  ignoreExcludeLb?: boolean;
  /** In milliseconds. */
  sessionPollInterval: number;
  lbExemptPorts: readonly string[];
}

export const LOAD_BALANCER: LoadBalancerHostOptions = {
  metallbNamespace: "metallb-system",
  lbFrrRunDirectory: "/run/frr/plumbline-lb",
  sessionPollInterval: 1_000,
  lbExemptPorts: [],
};

/** For every command that uses the load balancer of this machine. */
export function withLoadBalancerHostOptions(command: Command): Command {
  return command
    .option("--host-netns <name>", "use this network namespace as the host's (for the lab)")
    .option("--state-directory <directory>", "directory for state that survives restarts", ROUTER_HOST_DEFAULTS.stateDirectory)
    .addOption(lbFrrRunDirectory())
    .option("--frr-root <directory>", "root file system with the FRR to use");
}

export function lbFrrRunDirectory(): Option {
  return new Option("--lb-frr-run-directory <directory>", "directory of the sockets of the load balancer's FRR daemons").default(
    LOAD_BALANCER.lbFrrRunDirectory,
  );
}

export function withLoadBalancer(command: Command): Command {
  return command
    .option("--metallb-namespace <name>", "namespace of the load balancer's configuration and statuses", LOAD_BALANCER.metallbNamespace)
    .option("--lb-class <class>", "announce only Services of this loadBalancerClass (default: those without one)")
    .option("--ignore-exclude-lb", "announce also from nodes labeled node.kubernetes.io/exclude-from-external-load-balancers")
    .addOption(lbFrrRunDirectory())
    .addOption(
      new Option("--session-poll-interval <duration>", "interval for reading session states from FRR")
        .argParser(parseInterval)
        .default(LOAD_BALANCER.sessionPollInterval, "1s"),
    )
    .addOption(
      new Option("--lb-exempt-ports <ports>", "ports on which this machine itself answers for Services, such as 80,8000-8100 (for the lab)")
        .argParser((text) => text.split(",").map(parsePorts))
        .default(LOAD_BALANCER.lbExemptPorts, "none"),
    );
}

/** A component of the agent that can be disabled. */
export function withFeatureFlag(command: Command, name: string, what: string): Command {
  return command.addOption(new Option(`--${name} <on|off>`, what).choices(["on", "off"]).default("on"));
}

/** For a lab whose controller waits less long for it. */
export function withHeartbeat(command: Command): Command {
  return command.addOption(
    new Option("--heartbeat-interval <duration>", "interval for renewing the agent's Lease").argParser(parseInterval).hideHelp(),
  );
}

export interface CheckOptions {
  allowTarget: readonly Prefix[];
  /** In milliseconds. */
  checkInterval: number;
}

export const CHECKS: CheckOptions = { allowTarget: [], checkInterval: 60_000 };

export function withChecks(command: Command): Command {
  return command
    .addOption(
      new Option("--check-interval <duration>", "interval of each connectivity check")
        .argParser(parseCheckInterval)
        .default(CHECKS.checkInterval, "1m"),
    )
    .addOption(allowTargetOption());
}

/** Can be repeated. */
export function allowTargetOption(): Option {
  return new Option(
    "--allow-target <cidr>",
    "allow checks of addresses in this range even if loopback, link-local, multicast or cloud metadata; repeatable",
  )
    .argParser((text: string, before: readonly Prefix[]) => [...before, parseCidr(text)])
    .default(CHECKS.allowTarget, "none");
}

function parseCidr(text: string): Prefix {
  try {
    return text.includes("/") ? parsePrefix(text) : new Prefix(parseAddress(text));
  } catch (error) {
    if (error instanceof IpError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

function parseInterval(text: string): number {
  const ms = millisecondsOf(text);
  if (!(ms >= 100 && ms <= 3_600_000)) throw new InvalidArgumentError("Must be a duration from 100ms to 60m, such as 1s.");
  return ms;
}

/** A check without a report for half an hour counts as stale. */
export function parseCheckInterval(text: string): number {
  const ms = millisecondsOf(text);
  if (!(ms >= 100 && ms <= 600_000)) throw new InvalidArgumentError("Must be a duration from 100ms to 10m, such as 1m.");
  return ms;
}

function millisecondsOf(text: string): number {
  const [, number = "", unit = ""] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
  return Number(number) * (UNITS[unit] ?? Number.NaN);
}

function parsePorts(text: string): string {
  const [, first = "", last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const [low, high] = [Number(first), Number(last)];
  if (first === "" || low < 1 || high > 65_535 || low > high)
    throw new InvalidArgumentError("Must be ports from 1 to 65535, such as 80,8000-8100.");
  return text;
}

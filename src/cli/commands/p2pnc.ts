import { type Command, InvalidArgumentError, Option } from "commander";
import { allowTargetOption, parseCheckInterval } from "../shared/agent-options.ts";
import { withCluster } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { oneOf, withLogLevel } from "../shared/log-level.ts";
import type { PodCheckOptions } from "../p2pnc/in-pod.ts";
import type { PruneOptions } from "../p2pnc/prune.ts";
import { configureHttp, lineOf } from "../p2pnc/http.ts";
import { parseTarget, type Target } from "../../connectivity/probe/target.ts";

interface CheckOptions extends PodCheckOptions {
  once?: boolean;
  output?: "json";
}

export function configure(command: Command): void {
  command.addHelpText("after", ({ command }) => {
    const line = lineOf(command);
    return `\nExamples:\n  ${line} check tcp-endpoint\n  ${line} check tcp-endpoint --once 10.0.134.23:2379 etcd.example.com:2379\n  ${line} prune --dry-run\n`;
  });
  const check = command.command("check").description("Check whether targets are reachable.");
  check.addHelpText("after", ({ command }) => `\nExample:\n  ${lineOf(command)} tcp-endpoint --once 10.0.134.23:2379\n`);
  configureTcpEndpoint(check.command("tcp-endpoint"));
  configureHttp(check.command("http"));
  configurePrune(command.command("prune"));
}

function configureTcpEndpoint(command: Command): void {
  withLogLevel(withCluster(command))
    .description("Resolve names and connect to TCP endpoints, every minute.")
    .argument(
      "[targets...]",
      "HOST:PORT=CHECK writes the result to that PodNetworkConnectivityCheck; HOST:PORT prints it and needs no cluster",
    )
    .option("--once", "try each target once and print the results, without writing them")
    .addOption(new Option("--interval <duration>", "interval of each check").argParser(parseCheckInterval).default(60_000, "1m"))
    .option("-o, --output <format>", "json for scripts, for printed results", oneOf(["json"]))
    .addOption(allowTargetOption())
    .option("--state-dir <directory>", "directory for results that the API does not have yet", "/var/lib/p2pnc")
    .option("--health-address <address>", "address for /livez, /readyz and /metrics (default: not served)")
    .addHelpText("after", ({ command }) => {
      const line = lineOf(command);
      return `
Without targets it makes the checks of its own pod: every PodNetworkConnectivityCheck of namespace POD_NAMESPACE whose spec.sourcePod is POD_NAME. Both come
from the downward API. POD_UID, given the same way, lets its Lease go with the pod; a static pod must not have it.

HOST:PORT alone is tried without a cluster, special addresses included, and exits with 0 only if everything is reached, with 1 if not, and with 3 if this
machine itself could not try.

Examples:
  ${line}
  ${line} 10.0.134.23:2379=kas-to-etcd-0 etcd.example.com:2379=kas-to-etcd
  ${line} --once 10.0.134.23:2379 [fd00::1]:443 -o json
  ${line} --interval 5s web.example.com:443
`;
    })
    .action(check);
}

async function check(targets: string[], { once = false, output, ...options }: CheckOptions): Promise<void> {
  const byHand = targetsByHand(targets);
  if (byHand) {
    const { tryByHand } = await import("../p2pnc/try-once.ts");
    return tryByHand(byHand, { once, output, intervalMs: options.interval });
  }
  const named = targetsOfChecks(targets);
  if (once) {
    if (named.size > 0) throw new CliError("--once writes no check: leave out --once, or =CHECK in the targets", EXIT.misuse);
    const { tryOwnChecks } = await import("../p2pnc/in-pod.ts");
    return tryOwnChecks({ ...options, output });
  }
  if (output) throw new CliError("-o needs printed results: use it with --once, or with targets without =CHECK", EXIT.misuse);
  const { checkInPod } = await import("../p2pnc/in-pod.ts");
  return checkInPod(named, options);
}

function configurePrune(command: Command): void {
  withLogLevel(withCluster(command))
    .description("Delete unused checks: without activity for long, and without a pod that could run them.")
    .option("--namespace <name>", "namespace of the checks (default: POD_NAMESPACE, else all)", process.env["POD_NAMESPACE"])
    .addOption(new Option("--older-than <duration>", "minimum time without activity (default: 48h)").argParser(parseHours))
    .option("--dry-run", "only print what would be deleted")
    .option("--health-address <address>", "address for /livez, /readyz and /metrics (default: not served)")
    .addHelpText("after", ({ command }) => {
      const line = lineOf(command);
      return `
Runs until it is stopped, beside an operator that creates checks itself. It watches for an hour before it deletes anything, and again after it lost the
connection to the API. Checks of a ConnectivityMesh or with an owner are never deleted. Several may run at once.

Examples:
  ${line} --namespace openshift-kube-apiserver
  ${line} --older-than 96h --dry-run
`;
    })
    .action(async (options: PruneOptions) => (await import("../p2pnc/prune.ts")).prune(options));
}

const HOUR_MS = 3_600_000;

function parseHours(text: string): number {
  const hours = Number(/^(\d+)h$/.exec(text)?.[1] ?? Number.NaN);
  if (!(hours >= 1 && hours <= 8_760)) throw new InvalidArgumentError("Must be a number of hours from 1h to 8760h, such as 48h.");
  return hours * HOUR_MS;
}

/** Targets to try without a cluster, if all arguments are HOST:PORT; undefined if none is. */
function targetsByHand(args: readonly string[]): readonly Target[] | undefined {
  const plain = args.filter((arg) => !arg.includes("="));
  if (plain.length === 0) return undefined;
  const paired = args.find((arg) => arg.includes("="));
  if (paired !== undefined) {
    throw new CliError(`${plain[0]} is to be printed and ${paired} to be written into a check: give one kind of target`, EXIT.misuse);
  }
  return plain.map(targetOf);
}

/** By the name of the check that the result goes to. */
function targetsOfChecks(args: readonly string[]): ReadonlyMap<string, Target> {
  const targets = new Map<string, Target>();
  for (const arg of args) {
    const at = arg.lastIndexOf("=");
    const name = arg.slice(at + 1);
    if (!/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(name)) {
      throw new CliError(
        `${arg}: ${name === "" ? "the name of the check after = is missing" : `${name} is not a name of a check`}`,
        EXIT.misuse,
      );
    }
    if (targets.has(name)) throw new CliError(`${arg}: check ${name} is given twice; a check has one target`, EXIT.misuse);
    targets.set(name, targetOf(arg.slice(0, at)));
  }
  return targets;
}

function targetOf(text: string): Target {
  const target = parseTarget(text);
  if ("problem" in target) throw new CliError(target.problem, EXIT.misuse);
  return target;
}

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { developCommands } from "./commands/dev.ts";
import { configure as configureGet } from "./commands/get.ts";
import { labCommand } from "./shared/lab-loader.ts";
import { runCommand, strict } from "./shared/run-command.ts";
import { configure as configureVersion } from "./commands/version.ts";
import { VERSION } from "./shared/version.ts";

const CHECKOUT = join(import.meta.dirname, "../..");

interface Loaded {
  /** `program` builds all commands, for completion. */
  configure(command: Command, program: () => Promise<Command>): void;
}

interface Listed {
  readonly about: string;
  /** Only the command that runs is loaded: loading takes most of the time of a short one. */
  readonly load: () => Loaded | Promise<Loaded>;
  readonly hidden?: true;
}

const COMMANDS: Readonly<Record<string, Listed>> = {
  up: {
    about: "Serve a directory of manifests as a Kubernetes API and run the controller on it.",
    load: () => import("./commands/up.ts"),
  },
  get: { about: "List objects.", load: () => ({ configure: configureGet }) },
  describe: { about: "Show an object in detail: fields, conditions, events.", load: () => import("./commands/describe.ts") },
  apply: { about: "Create or update objects from manifests.", load: () => import("./commands/apply.ts") },
  delete: { about: "Delete objects.", load: () => import("./commands/delete.ts") },
  lint: { about: "Check manifests without a server.", load: () => import("./commands/lint.ts") },
  render: { about: "Print the configuration that manifests produce for a node.", load: () => import("./commands/render.ts") },
  tree: { about: "Show the resources of each node's router as a tree, with their states.", load: () => import("./commands/tree.ts") },
  routes: {
    about: "Show what BGP sent, received and selected, and what is in the kernel, by node and session.",
    load: () => import("./commands/routes.ts"),
  },
  why: { about: "Show problems with their causes and fixes: of one object, or all.", load: () => import("./commands/why.ts") },
  status: { about: "Show the health of the whole cluster on one screen.", load: () => import("./commands/status.ts") },
  connectivity: {
    about: "Show the results of connectivity checks, and what failing checks have in common.",
    load: () => import("./commands/connectivity.ts"),
  },
  outages: { about: "List the outages that connectivity checks recorded.", load: () => import("./commands/outages.ts") },
  failover: { about: "Plan, run and review switches between sites.", load: () => import("./commands/failover.ts") },
  controller: {
    about: "Run the cluster-wide controller: claims, members, status cleaner, webhooks. Run two replicas; the leader writes.",
    load: () => import("./commands/controller.ts"),
  },
  agent: {
    about: "Run the node agent: configures the router, announces Services, runs the node's connectivity checks, and reports status.",
    load: () => import("./commands/agent.ts"),
  },
  p2pnc: {
    about: "Point-to-point network checks: run the checks of a pod, as a sidecar or by hand, and prune old ones.",
    load: () => import("./commands/p2pnc.ts"),
  },
  diff: { about: "Show what the agent would change on this node.", load: () => import("./commands/diff.ts") },
  router: { about: "Manage the router of this machine.", load: () => import("./commands/router.ts") },
  loadbalancer: { about: "Manage the load balancer of this machine.", load: () => import("./commands/loadbalancer.ts") },
  frr: { about: "Run FRR on this machine, apart from the agent.", load: () => import("./commands/frr.ts") },
  doctor: { about: "Check whether an agent can run on this node.", load: () => import("./commands/doctor.ts") },
  bundle: {
    about: "Write a support bundle: objects and node state in one file, without secrets.",
    load: () => import("./commands/bundle.ts"),
  },
  migrate: {
    about: "Migrate from MetalLB and OpenPERouter: list differences, replace CRDs.",
    load: () => import("./commands/migrate.ts"),
  },
  clean: {
    about: "Remove Plumbline's reports from a cluster after uninstalling it.",
    load: () => import("./commands/clean.ts"),
  },
  lab: { about: "Run a lab on this machine: real FRR, agents and an API server.", load: labCommand },
  crds: { about: "Print the CustomResourceDefinitions of all kinds, or of the named ones.", load: () => import("./commands/crds.ts") },
  completion: { about: "Print the shell completion script.", load: () => import("./commands/completion.ts") },
  __complete: { about: "", load: () => import("./commands/complete.ts"), hidden: true },
  version: { about: "Print the versions of plumbline and of Node.js.", load: () => ({ configure: configureVersion }) },
};

/** The groups of the help, in this order. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "Try:": ["lab", "up"],
  "Inspect:": ["status", "why", "get", "describe", "tree", "routes", "connectivity", "outages", "bundle"],
  "Change:": ["lint", "render", "diff", "apply", "delete", "failover"],
  "Run:": ["controller", "agent", "frr", "p2pnc", "router", "loadbalancer"],
  "Install:": ["doctor", "migrate", "crds", "clean", "completion", "version"],
};

const HELP = `
Examples:
  plumbline lab up
  plumbline up --dir examples
  plumbline why service/shop/web
  plumbline help lab break

Environment:
  KUBECONFIG       path to the kubeconfig, unless --kubeconfig is given
  PLUMBLINE_DIR    directory of a running \`plumbline up\`, unless --dir is given
  NO_COLOR         disables colors
  XDG_RUNTIME_DIR  where commands find running labs and \`plumbline up\`
  XDG_CACHE_HOME   where builds are cached

Exit codes: 0 success, 1 failure or problems found, 2 wrong usage, 3 unknown (could not find out).
As a kubectl plugin: kubectl plumbline COMMAND. Guides: docs/, starting with docs/cli.md.
`;

/** Runs one command line and returns its exit code. Never throws. */
export function runProgram(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args;
  if (first === "help") return runProgram([...rest, "--help"]);
  const named = args.find((arg) => !arg.startsWith("-"));
  return runCommand(() => program((name) => name === named), args, "plumbline");
}

/** All commands by name; only those that are `wanted` are loaded. */
export async function program(wanted: (name: string) => boolean): Promise<Command> {
  const plumbline = new Command("plumbline")
    .description("Runs the network edge of a bare-metal Kubernetes cluster and reports its state.")
    .version(VERSION, "-V, --version", "print the version")
    .addHelpText("after", HELP);
  const inOrder = Object.entries(COMMANDS).sort(([one], [other]) => orderOf(one) - orderOf(other));
  for (const [name, { about, load, hidden = false }] of inOrder) {
    const group = Object.keys(GROUPS).find((heading) => GROUPS[heading]?.includes(name));
    const command = new Command(name).description(about);
    if (group !== undefined) command.helpGroup(group);
    if (wanted(name)) (await load()).configure(command, () => program(() => true));
    plumbline.addCommand(command, { hidden });
  }
  if (existsSync(join(CHECKOUT, "tools"))) for (const command of developCommands(CHECKOUT)) plumbline.addCommand(command, { hidden: true });
  return strict(plumbline);
}

function orderOf(name: string): number {
  return Object.values(GROUPS).flat().indexOf(name);
}

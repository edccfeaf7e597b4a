import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { developCommands } from "./commands/dev.ts";
import { configure as configureGet } from "./commands/get.ts";
import { runCommand, strict } from "./shared/run-command.ts";
import { configure as configureVersion, VERSION } from "./commands/version.ts";

const CHECKOUT = join(import.meta.dirname, "../..");

interface Loaded {
  configure(command: Command): void;
}

interface Listed {
  readonly about: string;
  /** Only the command that runs is loaded: most of the time a short one takes is loading what it does not need. */
  readonly load: () => Loaded | Promise<Loaded>;
  readonly hidden?: true;
}

const COMMANDS: Readonly<Record<string, Listed>> = {
  up: { about: "Serve the manifests of a directory as a Kubernetes API, and run the controller on it.", load: () => import("./commands/up.ts") },
  get: { about: "Show objects.", load: () => ({ configure: configureGet }) },
  describe: { about: "Show all there is to know about objects: fields, conditions, events.", load: () => import("./commands/describe.ts") },
  apply: { about: "Make objects be as manifests say.", load: () => import("./commands/apply.ts") },
  delete: { about: "Delete objects.", load: () => import("./commands/delete.ts") },
  lint: { about: "Check manifests without a server.", load: () => import("./commands/lint.ts") },
  render: { about: "Print what manifests mean for a node, without touching it.", load: () => import("./commands/render.ts") },
  tree: { about: "Show what stands on what in the router of each node, and in which state.", load: () => import("./commands/tree.ts") },
  why: { about: "Say what is wrong and what is to blame for it: an object, or everything.", load: () => import("./commands/why.ts") },
  status: { about: "Show on one screen how the whole cluster is.", load: () => import("./commands/status.ts") },
  connectivity: { about: "Show who reaches what, and what failures have in common.", load: () => import("./commands/connectivity.ts") },
  outages: { about: "Show when something was not reached, from where and for how long.", load: () => import("./commands/outages.ts") },
  failover: { about: "Switch sites: what would be done, doing it, what was done.", load: () => import("./commands/failover.ts") },
  controller: {
    about: "Runs what a cluster needs once: claims, members, the janitor, webhooks. Two replicas; the leader by Lease does the writing.",
    load: () => import("./commands/controller.ts"),
  },
  agent: {
    about:
      "Runs on every node: brings its router to what the cluster asks for, announces Services, makes the connectivity checks of its node, and reports what became of it.",
    load: () => import("./commands/agent.ts"),
  },
  p2pnc: {
    about: "Point-to-point network checks: the checks of one pod, as a sidecar or by hand; and their pruner.",
    load: () => import("./commands/p2pnc.ts"),
  },
  diff: { about: "Show what the agent would change on this node now.", load: () => import("./commands/diff.ts") },
  router: { about: "The router of this machine.", load: () => import("./commands/router.ts") },
  loadbalancer: { about: "The load balancer of this machine.", load: () => import("./commands/loadbalancer.ts") },
  frr: { about: "The FRR of this machine, where it is not the agent that runs it.", load: () => import("./commands/frr.ts") },
  doctor: { about: "Check whether an agent can run on this node, before it is installed.", load: () => import("./commands/doctor.ts") },
  bundle: { about: "Write all that explains how things are into one file, without secrets.", load: () => import("./commands/bundle.ts") },
  migrate: { about: "Move over from MetalLB and OpenPERouter: what differs, and the definitions.", load: () => import("./migrate.ts") },
  clean: { about: "Remove what Plumbline has reported, from a cluster that it was removed from.", load: () => import("./commands/clean.ts") },
  lab: { about: "Real parts on this machine, for trying things out and for the tests.", load: () => import("../../lab/cli/lab.ts") },
  crds: { about: "Print the CustomResourceDefinitions of every kind, or of those named.", load: () => import("./commands/crds.ts") },
  completion: { about: "Print what makes a shell complete commands, kinds and names.", load: () => import("./commands/completion.ts") },
  __complete: { about: "", load: () => import("./commands/complete.ts"), hidden: true },
  version: { about: "Print the version of plumbline and of the Node it runs on.", load: () => ({ configure: configureVersion }) },
};

/** What a person is looking for, in the order of the help. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "Try it:": ["lab", "up"],
  "See how it is:": ["status", "why", "get", "describe", "tree", "connectivity", "outages", "bundle"],
  "Change it:": ["lint", "render", "diff", "apply", "delete", "failover"],
  "Run it:": ["controller", "agent", "frr", "p2pnc", "router", "loadbalancer"],
  "Install it:": ["doctor", "migrate", "crds", "clean", "completion", "version"],
};

const HELP = `
Examples:
  plumbline lab up
  plumbline up --dir examples
  plumbline why service/shop/web
  plumbline help lab break

Environment:
  KUBECONFIG       whom to speak to, where no flag says so
  PLUMBLINE_DIR    the directory of a running \`plumbline up\`, likewise
  NO_COLOR         no colours on a terminal
  XDG_RUNTIME_DIR  where running labs and \`plumbline up\` are found by the other commands
  XDG_CACHE_HOME   where what is built once is kept

Exit codes: 0 fine, 1 the answer is no, 2 misuse, 3 could not find out.
As a kubectl plugin: kubectl plumbline COMMAND. Guides: docs/, beginning with docs/cli.md.
`;

/** Runs one command line and returns its exit code. Never throws. */
export function runProgram(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args;
  if (first === "help") return runProgram([...rest, "--help"]);
  const named = args.find((arg) => !arg.startsWith("-"));
  return runCommand(() => program((name) => name === named), args, "plumbline");
}

/** All commands by name, and those that are `wanted` with all they can do. */
export async function program(wanted: (name: string) => boolean): Promise<Command> {
  const plumbline = new Command("plumbline")
    .description("Runs the network edge of a bare-metal Kubernetes cluster and tells the truth about it.")
    .version(VERSION, "-V, --version", "print the version")
    .addHelpText("after", HELP);
  const inOrder = Object.entries(COMMANDS).sort(([one], [other]) => placeOf(one) - placeOf(other));
  for (const [name, { about, load, hidden = false }] of inOrder) {
    const group = Object.keys(GROUPS).find((heading) => GROUPS[heading]?.includes(name));
    const command = new Command(name).description(about);
    if (group !== undefined) command.helpGroup(group);
    if (wanted(name)) (await load()).configure(command);
    plumbline.addCommand(command, { hidden });
  }
  if (existsSync(join(CHECKOUT, "tools"))) for (const command of developCommands(CHECKOUT)) plumbline.addCommand(command, { hidden: true });
  return strict(plumbline);
}

function placeOf(name: string): number {
  return Object.values(GROUPS).flat().indexOf(name);
}

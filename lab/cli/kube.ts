import { Command, Option } from "commander";
import { Background } from "../background.ts";
import { type ControlPlane, startControlPlane } from "../kube/control-plane.ts";
import { removeLeftovers } from "../leftovers.ts";
import { type Progress, progressOn } from "../progress.ts";
import { reportToStarter } from "../start-report.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import { printItems } from "../../src/cli/print/items.ts";
import { untilStopped } from "../../src/cli/shared/signals.ts";

interface RunningPlane {
  readonly url: string;
  readonly kubeconfig: string;
  readonly parts: readonly { name: string; pid: number }[];
}

const background = new Background<RunningPlane>("lab-kube", "control plane");

export function kubeCommand(): Command {
  const kube = new Command("kube").description(
    "A real Kubernetes control plane on loopback, with RBAC and its own certificates, data in memory.",
  );
  kube.addHelpText("after", "\nExample:\n  plumbline lab kube status\n");

  kube
    .command("up")
    .description("Start it and print its kubeconfig. The first run builds it, about eight minutes.")
    .option("--no-kwok", "do not run kwok, which fakes nodes and pods")
    .option("--foreground", "run in the foreground until Ctrl-C")
    .addOption(new Option("--background").hideHelp())
    .addHelpText("after", "\nExample:\n  export KUBECONFIG=$(plumbline lab kube up)\n")
    .action(async ({ kwok, foreground, background }: { kwok: boolean; foreground?: boolean; background?: boolean }) =>
      background ? runInBackground(kwok) : foreground ? runInForeground(kwok) : startInBackground(kwok),
    );

  kube
    .command("down")
    .description("Stop it and remove everything it created.")
    .addHelpText("after", "\nExample:\n  plumbline lab kube down\n")
    .action(async () => {
      const running = await background.find();
      if (running) await background.stop(running);
      await clean();
      say(running ? "The control plane is stopped." : "No control plane is running.");
    });

  kube
    .command("status")
    .description("Show whether it runs, and where. Exit code 1 when it does not.")
    .option("-o, --output <format>", "json for scripts")
    .addHelpText("after", "\nExample:\n  plumbline lab kube status -o json\n")
    .action(async (options: { output?: string }) => {
      const running = await background.find();
      if (options.output === "json") printItems("ControlPlane", running ? [running] : []);
      else say(running ? table(running) : "No control plane is running: run plumbline lab kube up");
      if (!running) process.exitCode = EXIT.no;
    });

  kube
    .command("tour")
    .description("Show the control plane and Plumbline's controller start, and what happens when an agent stops reporting.")
    .option("--once", "exit at the end instead of waiting for Ctrl-C")
    .addHelpText("after", "\nExample:\n  plumbline lab kube tour --once\n")
    .action(async (options: { once?: boolean }) => {
      const { tour } = await import("./tour.ts");
      await tour({ stay: !options.once });
    });
  return kube;
}

/** Standard output is for what was asked: scripts read the kubeconfig there. */
async function clean(): Promise<void> {
  const removed = await removeLeftovers([background]);
  if (removed !== undefined) process.stderr.write(`${removed}\n`);
}

async function startInBackground(kwok: boolean): Promise<void> {
  await clean();
  let running = await background.find();
  if (!running) {
    const [node = ""] = process.argv;
    const flags = kwok ? [] : ["--no-kwok"];
    running = await background.start(
      [node, ...process.execArgv, process.argv[1] ?? "", "lab", "kube", "up", "--background", ...flags],
      progressOn(process.stderr),
    );
  }
  say(running.kubeconfig);
}

async function runInForeground(kwok: boolean): Promise<void> {
  await clean();
  await hold(kwok, progressOn(process.stdout), ({ kubeconfig }) => say(`KUBECONFIG=${kubeconfig}\nPress Ctrl-C to stop.`));
}

/** What `up` leaves in the background. */
async function runInBackground(kwok: boolean): Promise<void> {
  await reportToStarter((progress, up) => hold(kwok, progress, up));
}

/** Holds the control plane until told to end. */
async function hold(kwok: boolean, progress: Progress, whenUp: (plane: ControlPlane) => void): Promise<void> {
  const other = await background.find();
  if (other)
    throw new CliError(`A control plane is already running at ${other.url} (pid ${other.pid}): run plumbline lab kube down first`, EXIT.no);
  let plane: ControlPlane;
  try {
    plane = await startControlPlane({ kwok, progress });
  } catch (error) {
    progress.failed();
    throw error;
  }
  const forget = await background.record(described(plane));
  // A reader of this line may stop us at once.
  const stopped = untilStopped();
  whenUp(plane);
  await stopped;
  await plane.stop();
  await forget();
}

function described({ server, kubeconfig, parts }: ControlPlane): RunningPlane {
  return {
    url: server.url,
    kubeconfig,
    parts: [{ name: "kube-apiserver", pid: server.pid }, ...parts.map(({ name, pid }) => ({ name, pid }))],
  };
}

function table(running: RunningPlane): string {
  const rows = running.parts.map(({ name, pid }) => `${name.padEnd(26)}${pid}`);
  return [`Running at ${running.url}`, `KUBECONFIG=${running.kubeconfig}`, "", `${"PART".padEnd(26)}PID`, ...rows].join("\n");
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

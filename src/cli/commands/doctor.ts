import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { isKubeError } from "../../kube/client/error.ts";
import { print } from "../../kube/printable.ts";
import { ROUTER_PLACE, withPart } from "../shared/agent-options.ts";
import { runHere } from "../support-bundle/run-on-node.ts";
import { connect, type ConnectionOptions, withConnection } from "../shared/connection.ts";
import { reachApi } from "../doctor/api.ts";
import { fail, type Finding, type Level, type Parts, warn } from "../doctor/finding.ts";
import { readKernel, tryKernel } from "../doctor/kernel.ts";
import { kubeProxy, permissions, settings, stateDirectory, timeSync } from "../doctor/machine.ts";
import { freePorts, PORTS } from "../doctor/ports.ts";
import { findFrr, findPrograms } from "../doctor/programs.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { harmless } from "../print/columns.ts";
import { printItems } from "../print/items.ts";
import { type Colour, type Paint, paintFor } from "../print/color.ts";

interface DoctorOptions extends ConnectionOptions {
  router: "on" | "off";
  stateDirectory: string;
  output: "text" | "json";
}

export function configure(command: Command): void {
  withPart(withConnection(command), "router", "whether the agent is to be the router of this machine")
    .option("--state-directory <directory>", "what an agent must remember over restarts", ROUTER_PLACE.stateDirectory)
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
On a node, before an agent is installed there, best as root: what the kernel can do is then really tried, in a network namespace that is gone afterwards.
Nothing on the node is changed, but that the kernel may load modules for it. Exit 1 when something fails, 0 when there are only warnings.

Examples:
  plumbline doctor
  plumbline doctor --router off --kubeconfig agent.kubeconfig
  plumbline doctor -o json
`,
    )
    .action(run);
}

async function run({ router, stateDirectory: directory, output, ...connection }: DoctorOptions): Promise<void> {
  const signal = AbortSignal.timeout(120_000);
  const parts = { router: router === "on" };
  const findings = [...(await lookAtMachine(parts, directory, signal)), ...(await askApi(connection, parts, signal))];
  if (output === "json") printItems("Finding", findings);
  else print(text(findings, paintFor(process.stdout)));
  if (findings.some(({ level }) => level === "fail")) process.exitCode = EXIT.no;
}

async function lookAtMachine(parts: Parts, directory: string, signal: AbortSignal): Promise<Finding[]> {
  const here = (command: readonly string[]) => runHere(command, signal);
  const root = process.getuid?.() === 0;
  return [
    permissions(await readFile("/proc/self/status", "utf8"), process.getuid?.() ?? 1, parts),
    ...(root ? await tryKernel(here, parts) : await readKernel(parts)),
    ...(await findPrograms()),
    await findFrr(here),
    ...(await freePorts(PORTS, () => answersAsAgent(signal))),
    await kubeProxy(() => get("http://127.0.0.1:10249/proxyMode", signal)),
    ...(await settings()),
    await timeSync(here),
    await stateDirectory(directory),
  ];
}

/** Without anybody to ask, that is no fault of the node. */
async function askApi(connection: ConnectionOptions, parts: Parts, signal: AbortSignal): Promise<Finding[]> {
  let client;
  try {
    client = await connect(connection);
  } catch (error) {
    if (isKubeError(error))
      return [fail("api", error.message, "give a kubeconfig that leads to the API server: --kubeconfig agent.kubeconfig")];
    if (!(error instanceof CliError) || error.exitCode !== EXIT.unknown) throw error;
    return [warn("api", "No API server was asked: there is no kubeconfig here", "give one: --kubeconfig agent.kubeconfig")];
  }
  try {
    return await reachApi(client, parts, signal);
  } finally {
    client.close();
  }
}

async function answersAsAgent(signal: AbortSignal): Promise<boolean> {
  return (await get(`http://127.0.0.1:${PORTS.health}/metrics`, signal))?.includes("plumbline_") ?? false;
}

const ANSWER_WITHIN_MS = 2_000;

async function get(url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]) });
    return answer.ok ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
}

const COLOURS: Readonly<Record<Level, Colour>> = { ok: "green", warn: "yellow", fail: "red" };
const INDENT = " ".repeat(8);

function text(findings: readonly Finding[], paint: Paint): string {
  const width = Math.max(...findings.map(({ check }) => check.length)) + 3;
  const lines = findings.flatMap(({ level, check, message, remedy }) => [
    `${paint(COLOURS[level], level)}${" ".repeat(INDENT.length - level.length)}${check.padEnd(width)}${harmless(message)}`,
    ...(remedy === undefined ? [] : [`${INDENT}${" ".repeat(width)}To do: ${harmless(remedy)}`]),
  ]);
  const count = (wanted: Level) => findings.filter(({ level }) => level === wanted).length;
  return [...lines, "", `${count("ok")} fine, ${count("warn")} to think about, ${count("fail")} in the way`, ""].join("\n");
}

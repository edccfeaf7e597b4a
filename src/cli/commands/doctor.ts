import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { isKubeError } from "../../kube/client/error.ts";
import { print } from "../../kube/printable.ts";
import { ROUTER_HOST_DEFAULTS, withFeatureFlag } from "../shared/agent-options.ts";
import { runHere } from "../support-bundle/run-on-node.ts";
import { connect, type ConnectionOptions, withConnection } from "../shared/connection.ts";
import { checkApi } from "../doctor/api.ts";
import { fail, type CheckFinding, type CheckLevel, type EnabledComponents, warn } from "../doctor/finding.ts";
import { readKernel, tryKernel } from "../doctor/kernel.ts";
import { kubeProxy, permissions, settings, stateDirectory, timeSync } from "../doctor/machine.ts";
import { freePorts, PORTS } from "../doctor/ports.ts";
import { findFrr, findPrograms } from "../doctor/programs.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { printItems } from "../print/items.ts";
import { type Color, type Colorize, colorizeFor } from "../print/color.ts";

interface DoctorOptions extends ConnectionOptions {
  router: "on" | "off";
  stateDirectory: string;
  output: "text" | "json";
}

export function configure(command: Command): void {
  withFeatureFlag(withConnection(command), "router", "check what the router of this machine needs")
    .option("--state-directory <directory>", "directory for state that survives restarts", ROUTER_HOST_DEFAULTS.stateDirectory)
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Run it on a node before installing an agent, best as root: it then tries kernel features in a temporary network namespace. Changes nothing on the node,
except that the kernel may load modules. Exit code 1 when a check fails, 0 when there are only warnings.

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
  const findings = [...(await checkMachine(parts, directory, signal)), ...(await askApi(connection, parts, signal))];
  if (output === "json") printItems("Finding", findings);
  else print(text(findings, colorizeFor(process.stdout)));
  if (findings.some(({ level }) => level === "fail")) process.exitCode = EXIT.no;
}

async function checkMachine(parts: EnabledComponents, directory: string, signal: AbortSignal): Promise<CheckFinding[]> {
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

/** A missing API server is no fault of the node. */
async function askApi(connection: ConnectionOptions, parts: EnabledComponents, signal: AbortSignal): Promise<CheckFinding[]> {
  let client;
  try {
    client = await connect(connection);
  } catch (error) {
    if (isKubeError(error)) return [fail("api", error.message, "use a kubeconfig of the API server: --kubeconfig agent.kubeconfig")];
    if (!(error instanceof CliError) || error.exitCode !== EXIT.unknown) throw error;
    return [warn("api", "API server not checked: no kubeconfig found", "use --kubeconfig agent.kubeconfig")];
  }
  try {
    return await checkApi(client, parts, signal);
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

const COLORS: Readonly<Record<CheckLevel, Color>> = { ok: "green", warn: "yellow", fail: "red" };
const INDENT = " ".repeat(8);

function text(findings: readonly CheckFinding[], colorize: Colorize): string {
  const width = Math.max(...findings.map(({ check }) => check.length)) + 3;
  const lines = findings.flatMap(({ level, check, message, remedy }) => [
    `${colorize(COLORS[level], level)}${" ".repeat(INDENT.length - level.length)}${check.padEnd(width)}${stripControlCharacters(message)}`,
    ...(remedy === undefined ? [] : [`${INDENT}${" ".repeat(width)}Fix: ${stripControlCharacters(remedy)}`]),
  ]);
  const count = (wanted: CheckLevel) => findings.filter(({ level }) => level === wanted).length;
  return [...lines, "", `${count("ok")} ok, ${count("warn")} warnings, ${count("fail")} failed`, ""].join("\n");
}

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { program } from "../../src/cli/program.ts";
import { LAUNCHER, plumbline } from "../support/command-line.ts";

const whole = await program(() => true);

function below(command: Command): Command[] {
  return [command, ...command.createHelp().visibleCommands(command).flatMap(below)];
}

/** `plumbline lab kube up` */
function lineOf(command: Command): string {
  return command.parent ? `${lineOf(command.parent)} ${command.name()}` : command.name();
}

test.for(below(whole).map((command) => [lineOf(command), command] as const))("the help of %s has an example", ([line, command]) => {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  const [, examples] = help.split(/\nExamples?:\n/);
  expect(examples).toContain(line);
});

test("the help lists the commands and the exit codes", async () => {
  const { code, stdout } = await plumbline(["--help"]);
  expect(code).toBe(0);
  for (const name of ["up", "get", "describe", "apply", "delete", "lint", "crds", "completion", "version"]) {
    expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, "m"));
  }
  expect(stdout).not.toContain("__complete");
  expect(stdout).toContain("Exit codes: 0 success, 1 failure or problems found, 2 wrong usage, 3 unknown (could not find out).");
});

test("the help groups the commands by task", () => {
  const groups = Map.groupBy(whole.createHelp().visibleCommands(whole), (command) => command.helpGroup());
  expect([...groups.keys()]).toEqual(["Try:", "Inspect:", "Change:", "Run:", "Install:"]);
});

test("help COMMAND is the help of that command", async () => {
  const help = await plumbline(["help", "lab", "kube", "up"]);
  expect(help).toEqual(await plumbline(["lab", "kube", "up", "--help"]));
  expect(help.stdout).toContain("Usage: plumbline lab kube up");
  expect(await plumbline(["help"])).toEqual(await plumbline(["--help"]));
});

test("a closed pipe ends the help without an error", async () => {
  const { stdout, stderr } = await promisify(execFile)("bash", ["-c", `"${LAUNCHER}" crds $(yes l3vni | head -n 300) | head -n 1`]);
  expect({ stdout, stderr }).toEqual({ stdout: "apiVersion: apiextensions.k8s.io/v1\n", stderr: "" });
});

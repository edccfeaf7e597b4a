import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LAUNCHER } from "../support/command-line.ts";
import { embeddedServer, type CommandLineServer } from "../support/servers.ts";

let server: CommandLineServer;
beforeAll(async () => {
  server = await embeddedServer();
});
afterAll(() => server.stop());

/** What bash offers when Tab is pressed after this line. */
async function offered(line: string, env: Record<string, string> = server.env): Promise<string[]> {
  const script = `source <(plumbline completion bash)
    read -ra COMP_WORDS <<<"$1"
    [[ $1 == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _plumbline
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)("bash", ["-c", script, "bash", line], {
    env: { ...process.env, ...env, PATH: `${dirname(LAUNCHER)}:${process.env["PATH"]}` },
  });
  return stdout.trim().split("\n");
}

test("bash completes commands, options, kinds, names and namespaces", async () => {
  expect(await offered("plumbline des")).toEqual(["describe"]);
  expect(await offered("plumbline get --al")).toEqual(["--all-namespaces"]);
  expect(await offered("plumbline get l3v")).toEqual(["l3vnis"]);
  expect(await offered("plumbline describe ns kube-s")).toEqual(["kube-system"]);
  expect(await offered("plumbline get l3vni -n open")).toEqual(["openperouter-system"]);
});

test("without a server our own kinds are completed, without an error", async () => {
  const none = { PLUMBLINE_DIR: `${server.directory}/nowhere`, KUBECONFIG: "" };
  expect(await offered("plumbline get l3v", none)).toEqual(["l3vnis"]);
  expect(await offered("plumbline get l3vni r", none)).toEqual([""]);
});

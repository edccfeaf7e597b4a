import { chown, cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { LAUNCHER, plumbline } from "../support/command-line.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples");
const USER = 65_534;

test("lint accepts the examples", async () => {
  const { code, stdout, stderr } = await plumbline(["lint", "-f", EXAMPLES]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "11 objects, no problems\n", stderr: "" });
});

test.each(["owned", "read-only"])("a user without root, with %s examples, sees the page and which agents are missing", async (examples) => {
  const home = await mkdtemp(join(tmpdir(), "plumbline-examples-"));
  onTestFinished(() => rm(home, { recursive: true }));
  const directory = join(home, "examples");
  await cp(EXAMPLES, directory, { recursive: true, filter: (path) => !path.endsWith(".plumbline") });
  const paths =
    examples === "owned" ? ["examples", ...(await readdir(directory, { recursive: true })).map((path) => `examples/${path}`)] : [];
  for (const path of ["", ...paths]) await chown(join(home, path), USER, USER);

  const env = { PATH: process.env["PATH"] ?? "", HOME: home, TERM: "dumb" };
  const command = ["--reuid", `${USER}`, "--regid", `${USER}`, "--clear-groups", "--pdeathsig", "KILL", "--", LAUNCHER];
  const up = spawn("setpriv", [...command, "up", "--dir", directory], { env, stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(up, "exit");
  onTestFinished(async () => {
    up.kill("SIGTERM");
    await exit;
  });
  let output = "";
  up.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await vi.waitFor(() => expect(output).toMatch(/The page: http|Web page not available/), { timeout: 60_000 });
  expect(output).toContain("The page: http://127.0.0.1:");
  expect(output).toContain("Off: router (--router), load balancer (--loadbalancer). They change this machine's network and need root.");

  expect(output.includes(`You cannot write to ${directory}`)).toBe(examples === "read-only");

  const user = (...args: string[]) =>
    promisify(execFile)("setpriv", [...command, ...args], { env }).then(
      ({ stdout }) => stdout,
      ({ stdout }: { stdout: string }) => stdout,
    );
  const causes = async () => {
    const stdout = await user("why", "--dir", directory, "-o", "json");
    const { items } = JSON.parse(stdout) as { items: { reason: string; message: string }[] };
    return items.map(({ reason, message }) => ({ reason, message }));
  };
  await vi.waitFor(
    async () =>
      expect(await causes()).toEqual([
        { reason: "NoAgent", message: "No agent runs the router: router resources are not applied" },
        { reason: "NoAgent", message: "No agent runs the load balancer: Services are not announced" },
      ]),
    { timeout: 60_000 },
  );
});

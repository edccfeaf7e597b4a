import { chmod, chown, cp, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { LAUNCHER, plumbline } from "../support/command-line.ts";

const ROOT = join(import.meta.dirname, "../..");
const EXAMPLES = join(ROOT, "examples");
const USER = 65_534;
const OFF = "Off: router (--router), load balancer (--loadbalancer). They change this machine's network and need root.";

test("lint accepts the examples", async () => {
  const { code, stdout, stderr } = await plumbline(["lint", "-f", EXAMPLES]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "11 objects, no problems\n", stderr: "" });
});

test.each(["owned", "read-only"])("a user without root, with %s examples, sees the page and which agents are missing", async (examples) => {
  const home = await emptyHome();
  const directory = join(home, "examples");
  await cp(EXAMPLES, directory, { recursive: true, filter: (path) => !path.endsWith(".plumbline") });
  const paths =
    examples === "owned" ? ["examples", ...(await readdir(directory, { recursive: true })).map((path) => `examples/${path}`)] : [];
  for (const path of paths) await chown(join(home, path), USER, USER);

  const user = asUser(home, LAUNCHER, home);
  const output = await user.up(directory);
  expect(output).toContain("The page: http://127.0.0.1:");
  expect(output).toContain(OFF);
  expect(output.includes(`You cannot write to ${directory}`)).toBe(examples === "read-only");

  const causes = async () => {
    const stdout = await user.run("why", "--dir", directory, "-o", "json");
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

test("in a fresh checkout of another user the page is served, and the status says what needs root", async () => {
  const checkout = join(await emptyHome(0), "plumbline");
  for (const path of ["examples", "package.json", "package-lock.json", "plumbline", "src", "tools", "tsconfig.json"]) {
    await cp(join(ROOT, path), join(checkout, path), { recursive: true, filter: (source) => !source.endsWith(".plumbline") });
  }
  await symlink(join(ROOT, "node_modules"), join(checkout, "node_modules"));

  const user = asUser(await emptyHome(), join(checkout, "plumbline"), checkout);
  const output = await user.up("examples");
  expect(output).toContain("The page: http://127.0.0.1:");
  expect(output).toContain(OFF);
  await vi.waitFor(
    async () =>
      expect(await user.run("status", "--dir", "examples")).toBe(`Router          Off   1 L2VNI, 2 L3VNI, 1 Underlay
Load balancer   Off   1 ConfigurationState, 1 ConfigurationStatus, 2 IPAddressPool, 1 L2Advertisement, 1 Service

NODE   CLUSTER
n1     Healthy
n2     Healthy

Off:
  No agent runs the router: router resources are not applied. Fix: deploy the agents, or on a single machine run \`plumbline up --router\` as root
  No agent runs the load balancer: Services are not announced. Fix: deploy the agents, or on a single machine run \`plumbline up --loadbalancer\` as root
`),
    { timeout: 60_000 },
  );
});

async function emptyHome(owner = USER): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "plumbline-examples-"));
  onTestFinished(() => rm(home, { recursive: true }));
  await chown(home, owner, owner);
  await chmod(home, 0o755);
  return home;
}

/** Runs the program without root. `up` is stopped with the test. */
function asUser(home: string, launcher: string, cwd: string) {
  const options = { cwd, env: { PATH: process.env["PATH"] ?? "", HOME: home, TERM: "dumb" } };
  const command = ["--reuid", `${USER}`, "--regid", `${USER}`, "--clear-groups", "--pdeathsig", "KILL", "--", launcher];
  return {
    async up(directory: string): Promise<string> {
      const up = spawn("setpriv", [...command, "up", "--dir", directory], { ...options, stdio: ["ignore", "pipe", "inherit"] });
      const exit = once(up, "exit");
      onTestFinished(async () => {
        up.kill("SIGTERM");
        await exit;
      });
      let output = "";
      up.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
      await vi.waitFor(() => expect(output).toMatch(/The page: http|Web page not available/), { timeout: 60_000 });
      return output;
    },
    run: (...args: string[]): Promise<string> =>
      promisify(execFile)("setpriv", [...command, ...args], options).then(
        ({ stdout }) => stdout,
        ({ stdout }: { stdout: string }) => stdout,
      ),
  };
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { cacheDirectory } from "../../src/util/cache-directory.ts";
import { LAUNCHER, plumbline } from "../support/command-line.ts";

let directory: string;
let env: Record<string, string>;
let running: Up[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-up-test-"));
  await mkdir(join(directory, "run"));
  await mkdir(join(directory, "d"));
  env = {
    XDG_RUNTIME_DIR: join(directory, "run"),
    XDG_CACHE_HOME: dirname(cacheDirectory()),
    KUBECONFIG: "",
    PLUMBLINE_DIR: "",
    HOME: directory,
  };
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((up) => up.end("SIGKILL")));
  await rm(directory, { recursive: true });
});

/** `plumbline up` as a process, and what it has said so far. */
class Up {
  readonly #process: ChildProcess;
  /** With the exit code, or null after a signal. */
  readonly ended: Promise<number | null>;
  output = "";
  complained = "";

  constructor(command: string, args: readonly string[]) {
    this.#process = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    this.#process.stdout?.setEncoding("utf8").on("data", (text: string) => (this.output += text));
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => (this.complained += text));
    this.ended = once(this.#process, "exit").then(([code]) => code as number | null);
    running.push(this);
  }

  async says(what: string | RegExp): Promise<void> {
    const heard = () => (typeof what === "string" ? this.output.includes(what) : what.test(this.output));
    const wait = () => {
      if (!heard()) throw new Error(`${String(what)} is not in: ${this.output}\n${this.complained}`);
    };
    await vi.waitFor(wait, { timeout: 60_000 });
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.#process.kill(signal);
    return this.ended;
  }
}

async function up(...args: string[]): Promise<Up> {
  const started = new Up(LAUNCHER, ["up", "--dir", join(directory, "d"), ...args]);
  await started.says(/\d+ objects?/);
  return started;
}

const l3vni = (vni: number) => `apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3VNI
metadata:
  name: red
  namespace: openperouter-system
spec:
  vrf: red
  vni: ${vni}
`;
const write = (path: string, text: string) => writeFile(join(directory, "d", path), text);

test("edits are applied, errors are reported with their line, and the last good version stays until they are fixed", async () => {
  await write("red.yaml", l3vni(100));
  const serving = await up();
  await serving.says("1 object: 1 L3VNI");
  await write("red.yaml", l3vni(101));
  await serving.says("L3VNI openperouter-system/red changed: spec.vni 100 → 101\n");
  await write("red.yaml", l3vni(0));
  await serving.says(/problem: red\.yaml:8: spec\.vni: Invalid value: 0/);
  expect((await plumbline(["get", "l3vni", "red", "-n", "openperouter-system", "-o", "yaml"], env)).stdout).toContain("vni: 101\n");
  await write("red.yaml", l3vni(102));
  await serving.says("spec.vni 101 → 102\n");
  await serving.says(/solved: red\.yaml:8: spec\.vni/);
  await rm(join(directory, "d/red.yaml"));
  await serving.says("L3VNI openperouter-system/red deleted\n");
});

test("other commands find it automatically, and Ctrl-C leaves only what programs wrote", async () => {
  const serving = await up();
  await expect(plumbline(["get", "ns", "default", "-o", "name"], env)).resolves.toEqual({
    code: 0,
    stdout: "namespace/default\n",
    stderr: "",
  });
  expect(await serving.end("SIGINT")).toBe(0);
  expect(serving.output).toMatch(/Stopped\. State is kept in \S+\/d\/\.plumbline\.\n$/);
  expect(serving.complained).toBe("");
  expect(await readdir(join(directory, "run"))).toEqual([]);
  expect(await readdir(join(directory, "d"))).toEqual([".plumbline"]);
  expect(existsSync(join(directory, "d/.plumbline/api.sock"))).toBe(false);
  const { code, stderr } = await plumbline(["get", "ns"], env);
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: expect.stringMatching(/^plumbline: No API server found: set KUBECONFIG or --dir, or run `plumbline up`/) as string,
  });
  expect(await plumbline(["get", "ns", "--dir", join(directory, "d")], env)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^plumbline: No `plumbline up` is running on .*: run plumbline up --dir/) as string,
  });
});

test("a killed process does not count as running, and the next one continues with its state", async () => {
  const first = await up();
  await plumbline(["apply", "-f", "-"], env, "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: kept }\n");
  await first.end("SIGKILL");
  expect(await plumbline(["get", "cm", "kept"], env)).toMatchObject({ code: 3 });
  await up();
  expect((await plumbline(["get", "cm", "kept", "-o", "name"], env)).stdout).toBe("configmap/kept\n");
});

test("with two running processes one must be chosen", async () => {
  await up();
  await mkdir(join(directory, "e"));
  const other = new Up(LAUNCHER, ["up", "--dir", join(directory, "e")]);
  await other.says("0 objects");
  expect(await plumbline(["get", "ns"], env)).toEqual({
    code: 2,
    stdout: "",
    stderr: `plumbline: Several \`plumbline up\` are running, on ${join(directory, "d")} and ${join(directory, "e")}: choose one with --dir or --kubeconfig\n`,
  });
  expect(await plumbline(["get", "ns", "default", "-o", "name"], { ...env, PLUMBLINE_DIR: join(directory, "e") })).toMatchObject({
    code: 0,
  });
});

test("with --listen clients with its kubeconfig can use it as a cluster", async () => {
  const serving = await up("--listen", "127.0.0.1:0");
  const kubeconfig = join(directory, "d/.plumbline/kubeconfig");
  expect(serving.output).toContain(`kubectl: export KUBECONFIG=${kubeconfig}\n`);
  const elsewhere = { ...env, XDG_RUNTIME_DIR: directory, KUBECONFIG: kubeconfig };
  expect(await plumbline(["apply", "-f", "-"], elsewhere, l3vni(7))).toMatchObject({ code: 0 });
  expect((await plumbline(["describe", "l3vni", "red", "-n", "openperouter-system"], elsewhere)).stdout).toContain("File:        applied/");
  await serving.end("SIGTERM");
  expect(existsSync(kubeconfig)).toBe(false);
});

test("on a terminal the table uses the alternate screen, and the first one is restored", async () => {
  await write("red.yaml", l3vni(100));
  const command = `stty rows 24 cols 100; exec ${LAUNCHER} up --dir ${join(directory, "d")}`;
  const terminal = new Up("script", ["-qefc", command, "/dev/null"]);
  await terminal.says("red.yaml:1");
  await write("red.yaml", l3vni(101));
  await terminal.says("spec.vni 100 → 101");
  const records = join(directory, `run/plumbline-up-${process.getuid?.()}`);
  const [record = ""] = await readdir(records);
  const { pid } = JSON.parse(await readFile(join(records, record), "utf8")) as { pid: number };
  process.kill(pid, "SIGINT");
  await terminal.says("Stopped.");
  const [before, screen, after] = terminal.output.split(/\p{Cc}\[\?1049[hl]/u);
  expect({ before, after }).toEqual({ before: "", after: expect.stringMatching(/^Stopped\./) as string });
  expect(screen).toMatch(/KIND {3,}NAMESPACE {3,}NAME/);
});

test("a directory is not served twice", async () => {
  await up();
  const { code, stdout, stderr } = await plumbline(["up", "--dir", join(directory, "d")], env);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^plumbline: \S+\/d\/\.plumbline is in use by plumbline up \(process \d+\) since \S+; stop it first\n$/);
});

test("a state directory that others can write is rejected with a fix", async () => {
  const open = join(directory, "open");
  await mkdir(join(open, ".plumbline"), { recursive: true });
  await chmod(join(open, ".plumbline"), 0o755);
  const { code, stderr } = await plumbline(["up", "--dir", open], env);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^plumbline: \S+\/\.plumbline has mode 755, so other users can access it: .* run: chmod 700 \S+\n$/);
});

test("the error about an unusable address names it", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
  expect(await plumbline(["up", "--dir", join(directory, "d"), "--listen", address], env)).toEqual({
    code: 3,
    stdout: "",
    stderr: `plumbline: cannot listen on ${address}: the port is in use; choose another\n`,
  });
  taken.close();
  const { code, stderr } = await plumbline(["up", "--dir", join(directory, "d"), "--listen", "6443"], env);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("Must be an address with a port: 127.0.0.1:6443") as string,
  });
});

test("a closed output pipe ends it like SIGTERM", async () => {
  const piped = new Up("bash", ["-c", `"${LAUNCHER}" up --dir "${join(directory, "d")}" | head -n 1`]);
  await piped.says("Plumbline serves");
  await write("red.yaml", l3vni(100));
  expect(await piped.ended).toBe(0);
  expect(piped.complained).toBe("");
  expect(await readdir(join(directory, "run"))).toEqual([]);
  expect(existsSync(join(directory, "d/.plumbline/api.sock"))).toBe(false);
});

test("a path that is not a directory is a usage error", async () => {
  expect(await plumbline(["up", "--dir", join(directory, "nowhere")], env)).toEqual({
    code: 2,
    stdout: "",
    stderr: `plumbline: ${join(directory, "nowhere")} is not a directory: create it, or use --dir\n`,
  });
});

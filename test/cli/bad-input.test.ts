import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { plumbline } from "../support/command-line.ts";

async function errorFor(path: string): Promise<string> {
  const { code, stdout, stderr } = await plumbline(["controller", "--kubeconfig", path, "--health-address", "127.0.0.1:0"]);
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr.trim().split("\n")).toHaveLength(1);
  return stderr.trim();
}

test("an unknown command is answered with the nearest name", async () => {
  expect(await plumbline(["contoller"])).toEqual({
    code: 2,
    stdout: "",
    stderr:
      "error: unknown command 'contoller'\n(Did you mean controller?)\nUsage: plumbline [options] [command]\nRun with --help for all options.\n",
  });
});

test("an unknown flag is answered with the nearest name", async () => {
  const { code, stderr } = await plumbline(["controller", "--health-adress", ":1"]);
  expect(code).toBe(2);
  expect(stderr).toContain("error: unknown option '--health-adress'\n(Did you mean --health-address?)");
});

test("an invalid value is rejected with the valid ones", async () => {
  const { code, stderr } = await plumbline(["controller", "--log-level", "loud"]);
  expect(code).toBe(2);
  expect(stderr).toContain("Must be one of error, warn, info, debug.");
});

test("an unknown kind is rejected with the known ones", async () => {
  expect(await plumbline(["crds", "l4vni"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('unknown kind "l4vni"; kinds: ') as string,
  });
});

test("the error about missing binaries names them", async () => {
  expect(await plumbline(["lab", "kube", "up", "--foreground"], { KUBEBUILDER_ASSETS: "/nowhere", XDG_RUNTIME_DIR: tmpdir() })).toEqual({
    code: 3,
    stdout: "",
    stderr: "plumbline: KUBEBUILDER_ASSETS names /nowhere, which cannot be read\n",
  });
});

test("without a command the help is printed", async () => {
  const { code, stderr } = await plumbline([]);
  expect(code).toBe(2);
  expect(stderr).toContain("Usage: plumbline [options] [command]");
});

describe("errors of the API server", () => {
  let api: SuiteApiServer;
  let directory: string;
  beforeAll(async () => {
    [api, directory] = await Promise.all([apiServer("bad-input"), mkdtemp(join(tmpdir(), "plumbline-bad-input-"))]);
  });
  afterAll(async () => {
    await api.stop();
    await rm(directory, { recursive: true });
  });

  interface Kubeconfig {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  }
  async function kubeconfig(identity: "admin" | "unprivileged", change: (config: Kubeconfig) => void): Promise<string> {
    const config = parse(await readFile(await api.server.kubeconfig(identity), "utf8")) as Kubeconfig;
    change(config);
    const path = join(directory, `${Math.random()}.kubeconfig`);
    await writeFile(path, stringify(config));
    return path;
  }

  test("name a missing kubeconfig", async () => {
    const path = join(directory, "missing");
    expect(await errorFor(path)).toContain(path);
  });

  test("name an invalid kubeconfig", async () => {
    const path = join(directory, "broken");
    await writeFile(path, "clusters: [");
    expect(await errorFor(path)).toContain(path);
  });

  test("name an unreachable server", async () => {
    const path = await kubeconfig("admin", ({ clusters }) =>
      clusters.forEach(({ cluster }) => (cluster["server"] = "https://127.0.0.1:1")),
    );
    expect(await errorFor(path)).toMatch(/127\.0\.0\.1:1\b.*(refused|running)/);
  });

  test("name an untrusted certificate", async () => {
    const path = await kubeconfig("admin", ({ clusters }) =>
      clusters.forEach(({ cluster }) => delete cluster["certificate-authority-data"]),
    );
    expect(await errorFor(path)).toMatch(/certificate/i);
  });

  test("say that the token was rejected", async () => {
    const path = await kubeconfig("admin", ({ users }) => users.forEach(({ user }) => (user["token"] = "nonsense")));
    expect(await errorFor(path)).toMatch(/credentials|token|[Uu]nauthorized/);
  });

  test("name a port in use", async () => {
    const { port } = api.server;
    const kubeconfig = await api.server.kubeconfig("admin");
    const { code, stderr } = await plumbline(["controller", "--kubeconfig", kubeconfig, "--health-address", `127.0.0.1:${port}`]);
    expect(code).toBe(3);
    expect(stderr.trim().split("\n").at(-1)).toMatch(new RegExp(`^plumbline: .*127\\.0\\.0\\.1:${port}`));
  });

  test("name a missing permission", async () => {
    const path = await kubeconfig("unprivileged", () => undefined);
    expect(await errorFor(path)).toMatch(/plumbline:unprivileged.*leases/);
  });
});

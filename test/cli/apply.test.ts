import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { L3VNI } from "../../src/api/openpe/l3vni.ts";
import { plumbline } from "../support/command-line.ts";
import { embeddedServer, realServer, SERVERS, type CommandLineServer } from "../support/servers.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const namespace = "openperouter-system";
const LABEL = "l3vni.openpe.openperouter.github.io";

describe.each(SERVERS)("on %s", (_name, start) => {
  let server: CommandLineServer;
  let manifests: string;
  beforeAll(async () => {
    server = await start("cli-apply");
    // Hidden, so that the embedded API does not take them for its own.
    manifests = join(server.directory, ".manifests");
    await mkdir(manifests);
  });
  afterAll(() => server.stop());

  async function file(path: string, text: string): Promise<string> {
    await writeFile(join(manifests, path), text);
    return join(manifests, path);
  }

  test("objects are created, unchanged or configured, and lose fields that their manifest loses", async () => {
    const both = await file("both.yaml", `${l3vni("red", 100, "  exportRTs: [64514:1]\n")}---\n${configMap("plain", { a: "1", b: "2" })}`);
    expect(await server.plumbline("apply", "-f", both)).toEqual({
      code: 0,
      stdout: `${LABEL}/red created\nconfigmap/plain created\n`,
      stderr: "",
    });
    expect(await server.plumbline("apply", "-f", both)).toEqual({
      code: 0,
      stdout: `${LABEL}/red unchanged\nconfigmap/plain unchanged\n`,
      stderr: "",
    });
    // What a program has written meanwhile is not the manifest's to take away.
    await server.client.resource(L3VNI).patch({ name: "red", namespace }, { metadata: { annotations: { by: "program" } } }, { signal });
    await file("both.yaml", `${l3vni("red", 101)}---\n${configMap("plain", { a: "1" })}`);
    const { code, stdout } = await server.plumbline("apply", "-f", both);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${LABEL}/red configured\nconfigmap/plain configured\n` });
    const { spec, metadata } = await server.client.resource(L3VNI).get("red", { namespace, signal });
    expect(spec).toEqual({ vrf: "red", vni: 101, vxlanport: 4789 });
    expect(metadata.annotations).toEqual({ by: "program" });
    expect((await server.client.resource(ConfigMap).get("plain", { namespace: "default", signal })).data).toEqual({ a: "1" });
  });

  test("a directory is read with all below it, namespaces first, and - is standard input", async () => {
    await mkdir(join(manifests, "tree/below"), { recursive: true });
    await file("tree/a.yaml", configMap("deep", {}, "made"));
    await file("tree/below/namespace.json", JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "made" } }));
    await file("tree/notes.txt", "not: a manifest");
    expect(await server.plumbline("apply", "-f", join(manifests, "tree"))).toEqual({
      code: 0,
      stdout: "namespace/made created\nconfigmap/deep created\n",
      stderr: "",
    });
    expect(await plumbline(["apply", "-n", "made", "-f", "-"], server.env, configMap("piped", {}, ""))).toEqual({
      code: 0,
      stdout: "configmap/piped created\n",
      stderr: "",
    });
    expect((await server.plumbline("get", "cm", "-n", "made", "-l", "!x", "-o", "name")).stdout).toContain("configmap/piped\n");
  });

  test("each rejected field is reported with its line, and affects only its own object", async () => {
    const bad = await file("bad.yaml", `${l3vni("zero", 0)}---\n${l3vni("odd", 300, "  vnii: 3\n")}---\n${l3vni("good", 301)}`);
    expect(await server.plumbline("apply", "-f", bad)).toEqual({
      code: 1,
      stdout: `${LABEL}/good created\n`,
      stderr:
        `plumbline: ${bad}:8: L3VNI openperouter-system/zero: spec.vni: Invalid value: 0: spec.vni in body should be greater than or equal to 1\n` +
        `plumbline: ${bad}:18: L3VNI openperouter-system/odd: spec.vnii: unknown field\n`,
    });
  });

  test("parse errors and unknown kinds are all reported, and nothing is applied", async () => {
    const text = `${configMap("never", {})}---\napiVersion: v1\nkind: ConfigMop\nmetadata: { name: a }\n---\nb: [\n---\n${l3vni("x", 1).replace("v1alpha1", "v9")}`;
    const mixed = await file("mixed.yaml", text);
    const { code, stdout, stderr } = await server.plumbline("apply", "-f", mixed);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.split("\n")).toEqual([
      `plumbline: ${mixed}:9: ConfigMop a: the server has no kind ConfigMop (Did you mean ConfigMap?)`,
      expect.stringMatching(/mixed\.yaml:1[34]: .*flow sequence/i),
      `plumbline: ${mixed}:14: L3VNI openperouter-system/x: the server has no L3VNI in apiVersion openpe.openperouter.github.io/v9, only in openpe.openperouter.github.io/v1alpha1`,
      "",
    ]);
    expect((await server.plumbline("get", "cm", "never")).code).toBe(1);
  });

  test("a missing namespace is an error that names it", async () => {
    const lost = await file("lost.yaml", configMap("lost", {}, "nowhere"));
    expect(await server.plumbline("apply", "-f", lost)).toEqual({
      code: 1,
      stdout: "",
      stderr: `plumbline: ${lost}:1: ConfigMap nowhere/lost: namespaces "nowhere" not found\n`,
    });
  });

  test("invalid arguments are a usage error", async () => {
    expect(await server.plumbline("apply", "-f", join(manifests, "missing"))).toEqual({
      code: 2,
      stdout: "",
      stderr: `plumbline: ${join(manifests, "missing")} does not exist: check -f\n`,
    });
    const empty = await file("empty.yaml", "# nothing\n");
    expect(await server.plumbline("apply", "-f", empty)).toMatchObject({
      code: 2,
      stderr: `plumbline: No manifests found in ${empty}\n`,
    });
    const elsewhere = await file("elsewhere.yaml", configMap("a", {}, "kube-system"));
    expect(await server.plumbline("apply", "-n", "default", "-f", elsewhere)).toMatchObject({
      code: 1,
      stderr: `plumbline: ${elsewhere}:5: ConfigMap kube-system/a: metadata.namespace is kube-system, but -n is default: remove one of them\n`,
    });
  });

  test("objects are deleted by name and by file, and a missing one is an error with the nearest name", async () => {
    const doomed = await file("doomed.yaml", `${configMap("one", {})}---\n${configMap("two", {})}---\n${configMap("three", {})}`);
    await server.plumbline("apply", "-f", doomed);
    expect(await server.plumbline("delete", "cm", "one", "twoo")).toEqual({
      code: 1,
      stdout: "configmap/one deleted\n",
      stderr: "plumbline: ConfigMap twoo not found in namespace default (Did you mean two?)\n",
    });
    expect(await server.plumbline("delete", "-f", doomed)).toEqual({
      code: 1,
      stdout: "configmap/three deleted\nconfigmap/two deleted\n",
      stderr: "plumbline: ConfigMap one not found in namespace default\n",
    });
    expect(await server.plumbline("delete", "cm")).toMatchObject({
      code: 2,
      stderr: "plumbline: No names given: name the objects to delete\n",
    });
    expect(await server.plumbline("delete")).toMatchObject({ code: 2 });
  });

  test("a delete that waits for finalizers names them", async () => {
    const path = await file("held.yaml", configMap("held", {}).replace("  name: held", "  name: held\n  finalizers: [example.com/hold]"));
    await server.plumbline("apply", "-f", path);
    expect((await server.plumbline("delete", "cm", "held")).stdout).toBe(
      "configmap/held is being deleted; waiting for finalizers example.com/hold\n",
    );
    await server.client.resource(ConfigMap).patch({ name: "held", namespace: "default" }, { metadata: { finalizers: null } }, { signal });
  });
});

describe("in a cluster", () => {
  let server: CommandLineServer;
  beforeAll(async () => {
    server = await realServer("cli-conflicts");
  });
  afterAll(() => server.stop());

  test("a field of another manager is not changed without --force-conflicts", async () => {
    const mine = join(server.directory, "mine.yaml");
    await writeFile(mine, l3vni("shared", 500));
    await server.plumbline("apply", "-f", mine);
    const ref = { name: "shared", namespace };
    await server.client.resource(L3VNI).patch(ref, { spec: { vni: 501 } }, { signal, fieldManager: "someone" });
    expect(await server.plumbline("apply", "-f", mine)).toEqual({
      code: 1,
      stdout: "",
      stderr: `plumbline: ${mine}:8: L3VNI openperouter-system/shared: spec.vni is owned by someone: use --force-conflicts, or remove it from the manifest\n`,
    });
    expect((await server.plumbline("apply", "--force-conflicts", "-f", mine)).stdout).toBe(`${LABEL}/shared configured\n`);
    expect((await server.client.resource(L3VNI).get("shared", { namespace, signal })).spec.vni).toBe(500);
    expect(await server.plumbline("apply", "--reset", "-f", mine)).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("with the embedded API", () => {
  let server: CommandLineServer;
  beforeAll(async () => {
    server = await embeddedServer();
  });
  afterAll(() => server.stop());
  const inDirectory = (path: string) => join(server.directory, path);

  test("a new object has its own file, which follows it and is deleted with it", async () => {
    await writeFile(inDirectory(".new.yaml"), l3vni("new", 700));
    await server.plumbline("apply", "-f", inDirectory(".new.yaml"));
    const kept = inDirectory(`applied/l3vnis.${namespace}.new.yaml`);
    expect(parse(await readFile(kept, "utf8"))).toMatchObject({ spec: { vrf: "new", vni: 700 } });
    await writeFile(inDirectory(".new.yaml"), l3vni("new", 701));
    await server.plumbline("apply", "-f", inDirectory(".new.yaml"));
    expect(parse(await readFile(kept, "utf8"))).toMatchObject({ spec: { vrf: "new", vni: 701 } });
    expect((await server.plumbline("delete", "l3vni", "new", "-n", namespace)).stdout).toBe(`${LABEL}/new deleted\n`);
    await expect(readFile(kept)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("an object of a user's file is overridden, described so, and reset; its deletion is rejected with the line", async () => {
    await writeFile(inDirectory("red.yaml"), `# mine\n${l3vni("red", 100)}`);
    await vi.waitFor(async () => expect((await server.plumbline("get", "l3vni", "red", "-n", namespace)).code).toBe(0), {
      timeout: 60_000,
    });
    expect(await server.plumbline("delete", "l3vni", "red", "-n", namespace)).toEqual({
      code: 1,
      stdout: "",
      stderr: `plumbline: l3vnis.openpe.openperouter.github.io "red" is forbidden: it is in red.yaml:2; remove it there\n`,
    });

    await writeFile(inDirectory(".other.yaml"), l3vni("red", 101));
    const changed = await server.plumbline("apply", "-f", inDirectory(".other.yaml"));
    expect({ code: changed.code, stdout: changed.stdout }).toEqual({ code: 0, stdout: `${LABEL}/red configured\n` });
    expect(changed.stderr).toMatch(/^Warning: L3VNI red is in red\.yaml:2; /);
    const described = (await server.plumbline("describe", "l3vni", "red", "-n", namespace)).stdout;
    const file = relative(process.cwd(), inDirectory("red.yaml"));
    expect(described).toContain(`File:        ${file}:2\n`);
    expect(described).toContain(
      `Overrides: differs from ${file}; to reset: plumbline apply --reset -f ${file}\n  FIELD      IN THE FILE   NOW\n  spec.vni   100           101\n`,
    );

    expect((await server.plumbline("apply", "--reset", "-f", file)).stdout).toBe(`${LABEL}/red reset\n`);
    expect((await server.plumbline("apply", "--reset", "-f", file)).stdout).toBe(`${LABEL}/red unchanged\n`);
    expect((await server.client.resource(L3VNI).get("red", { namespace, signal })).spec.vni).toBe(100);
    expect((await server.plumbline("describe", "l3vni", "red", "-n", namespace)).stdout).not.toContain("Overrides");
  });
});

function l3vni(name: string, vni: number, more = ""): string {
  return `apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3VNI
metadata:
  name: ${name}
  namespace: openperouter-system
spec:
  vrf: ${name}
  vni: ${vni}
${more}`;
}

function configMap(name: string, data: Record<string, string>, namespace = "default"): string {
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
${namespace === "" ? "" : `  namespace: ${namespace}\n`}data: ${JSON.stringify(data)}
`;
}

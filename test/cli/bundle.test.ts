import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { run as build } from "../../tools/build.ts";

const bundle = join(import.meta.dirname, "../../dist/plumbline.js");
const run = (...args: string[]) => promisify(execFile)(process.execPath, [bundle, ...args]);

beforeAll(() => build());

test("the bundled program runs alone and knows its version", async () => {
  expect((await run("version")).stdout).toBe(`plumbline 0.1.0 (node ${process.version})\n`);
});

test("the bundled program prints the CRDs as the checkout does", async () => {
  expect((await run("crds")).stdout).toBe((await promisify(execFile)(join(import.meta.dirname, "../../plumbline"), ["crds"])).stdout);
});

test("the bundled program has no tools of the checkout", async () => {
  await expect(run("bench")).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("unknown command 'bench'") as string });
});

test("the bundled program has no lab, prints one error about it, and completes the rest", async () => {
  const without = { code: 3, stderr: "plumbline: The lab is not part of this build: run ./plumbline in a checkout of Plumbline\n" };
  await expect(run("lab", "up", "--tors", "2")).rejects.toMatchObject(without);
  await expect(run("failover", "drill", "web", "-n", "shop")).rejects.toMatchObject(without);
  expect((await run("lab", "--help")).stdout).toContain("Usage: plumbline lab");
  expect((await run("__complete", "ver")).stdout).toContain("version\t");
});

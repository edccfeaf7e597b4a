import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { recordUp, runningUps } from "./running.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-running-"));
  vi.stubEnv("XDG_RUNTIME_DIR", directory);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

test("who follows one that was killed, on the same directory, is one and not two", async () => {
  const socket = join(directory, "api.sock");
  const server = createServer().listen(socket);
  const forget = recordUp({ directory: "/manifests", socket });
  const [first] = await runningUps();
  expect(first).toEqual({ pid: process.pid, directory: "/manifests", socket });
  forget();

  recordUp({ directory: "/manifests", socket });
  await writeFile(join(directory, `plumbline-up-${process.getuid?.()}`, "1.json"), JSON.stringify({ ...first, pid: 1 }));
  expect(await runningUps()).toHaveLength(2);
  recordUp({ directory: "/manifests", socket });
  expect(await runningUps()).toEqual([first]);
  server.close();
});

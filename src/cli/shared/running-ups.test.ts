import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { recordUp, runningInstances } from "./running-ups.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-running-"));
  vi.stubEnv("XDG_RUNTIME_DIR", directory);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

test("the successor of a killed process in the same directory replaces its record", async () => {
  const socket = join(directory, "api.sock");
  const server = createServer().listen(socket);
  const up = { directory: "/manifests", endpoint: { socket } };
  const forget = recordUp(up);
  const [first] = await runningInstances();
  expect(first).toEqual({ pid: process.pid, ...up });
  forget();

  recordUp(up);
  await writeFile(join(directory, `plumbline-up-${process.getuid?.()}`, "1.json"), JSON.stringify({ ...first, pid: 1 }));
  expect(await runningInstances()).toHaveLength(2);
  recordUp(up);
  expect(await runningInstances()).toEqual([first]);
  server.close();
});

test("an API server on a TCP port is found for as long as it answers", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const up = { directory: "/lab", endpoint: { url: `https://127.0.0.1:${port}`, kubeconfig: "/lab/kubeconfig" } };
  recordUp(up);
  expect(await runningInstances()).toEqual([{ pid: process.pid, ...up }]);
  server.close();
  await once(server, "close");
  expect(await runningInstances()).toEqual([]);
});

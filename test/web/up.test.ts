import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { LAUNCHER, plumbline } from "../support/command-line.ts";
import { EventReader } from "./fixtures/event-reader.ts";

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-page-test-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

test("up says where the page is, serves it there, and ends with those who follow it", async () => {
  const directory = await temporary();
  const env = { ...process.env, XDG_RUNTIME_DIR: directory, KUBECONFIG: "", PLUMBLINE_DIR: "" };
  const up = spawn(LAUNCHER, ["up", "--dir", directory, "--page-address", "127.0.0.1:0"], { env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void up.kill("SIGKILL"));
  let url = "";
  for await (const line of createInterface({ input: up.stdout })) {
    url = /The page: (http:\S+)$/.exec(line)?.[1] ?? "";
    if (url !== "") break;
  }
  up.stdout.resume();
  expect(await (await fetch(url)).text()).toContain("<title>Plumbline</title>");
  const reader = new EventReader(`${url}/api/stream?views=overview`);
  await reader.next("snapshot");
  const exit = once(up, "exit");
  up.kill("SIGTERM");
  await reader.untilEnded();
  expect((await exit)[0]).toBe(0);
});

test("without a login the page is served on this machine only, and an address in use is reported", async () => {
  const directory = await temporary();
  const env = { XDG_RUNTIME_DIR: directory, KUBECONFIG: "", PLUMBLINE_DIR: "" };
  const open = await plumbline(["up", "--dir", directory, "--page-address", "0.0.0.0:8480"], env);
  expect([open.code, open.stderr]).toEqual([2, expect.stringContaining("the page has no login here")]);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const up = spawn(LAUNCHER, ["up", "--dir", directory, "--page-address", `127.0.0.1:${port}`], { env: { ...process.env, ...env } });
  onTestFinished(() => void up.kill("SIGKILL"));
  for await (const line of createInterface({ input: up.stdout }))
    if (line.includes("Web page not available: ") && line.includes("EADDRINUSE")) break;
  const exit = once(up, "exit");
  up.stdout.resume();
  up.kill("SIGTERM");
  expect((await exit)[0]).toBe(0);
});

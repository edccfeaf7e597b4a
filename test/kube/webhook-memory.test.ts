import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";

const MIB = 1024 * 1024;
/** What the chart gives to the whole controller. */
const LIMIT_MIB = 512;

/** Objects without fields: in memory they are twenty times what they are as text. */
function bodyOf(bytes: number): Buffer {
  const head = '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","object":{"a":[{}';
  const tail = '],"metadata":{"name":"x"}}}}';
  return Buffer.from(head + ",{}".repeat(Math.floor((bytes - head.length - tail.length) / 3)) + tail);
}

test("posts of large bodies from anybody leave the webhook within its memory", async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "fixtures/webhook-process.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [port] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const post = (body: Buffer, headers: Record<string, string | number>) =>
    new Promise<number>((resolve) => {
      const options = { host: "127.0.0.1", port, path: "/validate/ipaddresspools.metallb.io", method: "POST", rejectUnauthorized: false };
      const posting = request({ ...options, agent: false, headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      posting.on("error", () => resolve(0));
      posting.end(body);
    });
  const [small, largest, tooLarge] = [bodyOf(1_000), bodyOf(3 * MIB), bodyOf(8 * MIB)];
  expect(await post(small, { "content-length": small.length })).toBe(200);
  const statuses = await Promise.all([
    ...Array.from({ length: 24 }, () => post(tooLarge, { "content-length": tooLarge.length })),
    ...Array.from({ length: 24 }, () => post(tooLarge, { "transfer-encoding": "chunked" })),
    ...Array.from({ length: 24 }, () => post(largest, { "content-length": largest.length })),
  ]);
  expect(new Set(statuses).difference(new Set([0, 200, 413, 429]))).toEqual(new Set());
  expect(await post(small, { "content-length": small.length })).toBe(200);
  const [, peak = ""] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
  expect(Number(peak) / 1024).toBeLessThan(LIMIT_MIB);
});

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { plumbline } from "../support/command-line.ts";
import { browser } from "../support/page/browser.ts";

/** Of a machine that does other things too. */
const PATIENCE = { timeout: 300_000 };

let runtime: string;

beforeEach(async () => {
  runtime = await mkdtemp(join(tmpdir(), "plumbline-lab-test-"));
});
afterEach(async () => {
  await lab("down");
  await rm(runtime, { recursive: true });
});

const lab = (...args: string[]) => plumbline(["lab", ...args], { XDG_RUNTIME_DIR: runtime });

test("up brings tor, nodes and client; commands run there; something breaks, is seen on the page and is fixed; down leaves nothing", async () => {
  expect(await lab("status")).toMatchObject({ code: 1, stdout: expect.stringContaining("No lab is running") as string });
  const up = await lab("up");
  expect(up).toMatchObject({ code: 0, stderr: expect.stringContaining("Making node1") as string });
  const kubeconfig = up.stdout.trim();
  expect((await lab("up")).stdout.trim()).toBe(kubeconfig);

  expect(await lab("exec", "node2", "--", "sh", "-c", "hostname; exit 3")).toMatchObject({ code: 3, stdout: "node2\n" });
  expect(await lab("exec", "node9", "--", "true")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("The lab has no node9") as string,
  });
  expect((await lab("exec", "client", "--", "ping", "-c1", "-W5", "10.20.0.1")).code).toBe(0);

  await using browsing = new AsyncDisposableStack();
  const chromium = await browser();
  browsing.defer(() => chromium.close());
  const page = await chromium.newPage();
  await page.goto(/^The page: (http:\S+)$/m.exec(up.stderr)?.[1] ?? "");
  await page.getByText("live", { exact: true }).waitFor();

  const port = async () => (await lab("exec", "tor", "--", "ip", "-o", "link", "show", "node2")).stdout;
  expect(await lab("break", "link-down", "--node", "node2")).toMatchObject({ code: 0 });
  expect(await port()).toContain("state DOWN");
  const cause = page.locator(".card").filter({ hasText: "Link eth1 on node2" });
  await cause.waitFor(PATIENCE);
  await cause.getByRole("link").first().click();
  await page.locator(".step.cause").filter({ hasText: "Link eth1 on node2" }).waitFor(PATIENCE);
  await page.goBack();
  expect(await lab("fix", "link-down", "--node", "node2")).toMatchObject({ code: 0 });
  expect(await port()).toContain("state UP");
  await cause.waitFor({ state: "detached", ...PATIENCE });
  expect(await lab("break", "nothing-known")).toMatchObject({ code: 2 });

  const status = await lab("status");
  expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining(`KUBECONFIG=${kubeconfig}`) as string });
  expect(await lab("down")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^The lab is stopped \(pid \d+\)\.\n$/) as string });
  expect(existsSync(kubeconfig)).toBe(false);
  expect(await readdir(runtime)).toEqual([]);
}, 900_000);

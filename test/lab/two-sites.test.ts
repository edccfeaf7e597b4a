import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { plumbline } from "../support/command-line.ts";

const PATIENCE = { timeout: 60_000, interval: 250 };
let runtime: string;
let kubeconfig: string;
const lab = (...args: string[]) => plumbline(["lab", ...args], { XDG_RUNTIME_DIR: runtime });
const switchSite = (context: string, to: string) =>
  plumbline(["failover", "switch", "shop", "-n", "shop", "--to", to, "--wait", "--kubeconfig", kubeconfig, "--context", context]);

/** `desired current complete token` of each site. */
async function sites(): Promise<Record<string, string>> {
  const { stdout } = await lab("status", "-o", "json");
  const { items } = JSON.parse(stdout) as { items: Record<"site" | "desired" | "current" | "complete" | "token", string>[] };
  return Object.fromEntries(
    items.map(({ site, desired, current, complete, token }) => [site, `${desired} ${current} ${complete} ${token}`]),
  );
}

beforeAll(async () => {
  runtime = await mkdtemp(join(tmpdir(), "plumbline-lab-test-"));
  const { stdout, stderr } = await lab("up", "--sites", "2");
  if (stdout === "") throw new Error(stderr);
  kubeconfig = /KUBECONFIG=(\S+)/.exec(stdout)?.[1] ?? "";
}, 600_000);
afterAll(async () => {
  await lab("down");
  await rm(runtime, { recursive: true });
});

test("an application moves from one site to the other, once the first has let go of it", async () => {
  expect(await sites()).toEqual({ east: "primary primary True Held 2", west: "secondary secondary True Released 1" });
  expect(await switchSite("east", "secondary")).toMatchObject({ code: 0 });
  expect(await switchSite("west", "primary")).toMatchObject({ code: 0 });
  expect(await sites()).toEqual({ east: "secondary secondary True Released 2", west: "primary primary True Held 3" });
});

test("while a volume does not arrive the site says so, and goes on when it is fixed", async () => {
  expect((await lab("break", "volume-never-arrives", "--site", "west")).stdout).toContain(
    "plumbline lab fix volume-never-arrives --site west",
  );
  const moving = switchSite("west", "secondary");
  await vi.waitFor(
    async () => expect((await lab("status")).stdout).toContain("AwaitVolumes, waiting for VolumeReplication shop/data-db-0"),
    PATIENCE,
  );
  expect((await lab("fix", "volume-never-arrives", "--site", "west")).stdout).toBe("west: volume-never-arrives is fixed.\n");
  expect(await moving).toMatchObject({ code: 0 });
});

test("a site that does not reach the other one is not promoted", async () => {
  await lab("break", "peer-unreachable", "--site", "east");
  const moving = switchSite("east", "primary");
  await vi.waitFor(async () => expect((await sites())["east"]).toBe("primary secondary False Released 2"), PATIENCE);
  await lab("fix", "peer-unreachable", "--site", "east");
  expect(await moving).toMatchObject({ code: 0 });
  expect(await sites()).toEqual({ east: "primary primary True Held 4", west: "secondary secondary True Released 3" });
});

test("a driver that refuses is an error of the policy, and the site goes on when it is fixed", async () => {
  await lab("break", "volume-refuses", "--site", "east");
  const moving = switchSite("east", "secondary");
  await vi.waitFor(
    async () => expect((await lab("status")).stdout).toContain("Completed is False (FailedToDemote): failed to demote"),
    PATIENCE,
  );
  expect((await sites())["east"]).toBe("secondary mixed False Held 4");
  await lab("fix", "volume-refuses", "--site", "east");
  expect(await moving).toMatchObject({ code: 0, stdout: expect.stringContaining("Error VolumeError: VolumeReplication shop/data-db-0: ") });
  expect((await sites())["east"]).toBe("secondary secondary True Released 4");
});

test("a pod that refuses to die is named with its node, and no volume is demoted before it is gone", async () => {
  expect(await switchSite("west", "primary")).toMatchObject({ code: 0 });
  await lab("break", "pod-refuses-to-die", "--site", "west");
  const moving = switchSite("west", "secondary");
  await vi.waitFor(async () => expect((await lab("status")).stdout).toContain("AwaitTermination, waiting for Pod shop/db-0\n"), PATIENCE);
  expect((await sites())["west"]).toMatch(/^secondary (primary|mixed) False Held 5$/);
  await lab("fix", "pod-refuses-to-die", "--site", "west");
  expect(await moving).toMatchObject({ code: 0, stdout: expect.stringContaining("Pod shop/db-0 belongs to StatefulSet db and ") });
  expect((await sites())["west"]).toBe("secondary secondary True Released 5");
});

test("down leaves nothing of it", async () => {
  expect(await lab("down")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^The lab of two sites is stopped \(pid \d+\)\.\n$/) as string,
  });
  expect(existsSync(kubeconfig)).toBe(false);
  expect(await readdir(runtime)).toEqual([]);
  expect(await lab("status")).toMatchObject({ code: 1 });
});

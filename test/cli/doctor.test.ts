import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CheckFinding } from "../../src/cli/doctor/finding.ts";
import { type CommandResult, LAUNCHER } from "../support/command-line.ts";
import { realServer } from "../support/servers.ts";

let server: Awaited<ReturnType<typeof realServer>>;
beforeAll(async () => {
  server = await realServer("doctor");
});
afterAll(() => server.stop());

const itemsOf = ({ stdout }: Pick<CommandResult, "stdout">) => (JSON.parse(stdout) as { kind: string; items: CheckFinding[] }).items;
const about = (findings: readonly CheckFinding[], check: string) => findings.find((finding) => finding.check === check);
const output = async (program: string, ...args: string[]) => (await promisify(execFile)(program, args)).stdout;

/** What an attempt could leave behind. */
async function traces(): Promise<string[]> {
  const outputs = await Promise.all([output("ip", "-o", "link"), output("nft", "list", "tables"), output("ip", "netns", "list")]);
  return outputs.flatMap((text) => text.split("\n").filter((line) => line.includes("pldoctor")));
}

test("kernel features of a node are tested, and nothing is left behind", async () => {
  const ended = await server.plumbline("doctor", "-o", "json");
  const findings = itemsOf(ended);
  const vrf = await output("unshare", "--net", "ip", "link", "add", "v", "type", "vrf", "table", "9").then(
    () => "ok",
    () => "fail",
  );
  expect(about(findings, "kernel vrf")?.level).toBe(vrf);
  expect(about(findings, "kernel vxlan")).toEqual({ check: "kernel vxlan", level: "ok", message: "VXLAN works" });
  expect(about(findings, "nftables arp")?.level).toBe("ok");
  expect(about(findings, "frr")?.message).toMatch(/^FRR \d+\.\d+\S* with .*zebra, bgpd, bfdd, staticd$/);
  expect(about(findings, "rights")?.message).toMatch(/^This identity has all permissions of an agent \(\d+\)$/);
  expect(ended.code).toBe(findings.some(({ level }) => level === "fail") ? 1 : 0);
  expect(await traces()).toEqual([]);
});

test("an identity without permissions fails, and the missing permissions of an agent are listed", async () => {
  const { code, stdout } = await server.plumbline(
    "doctor",
    "--router",
    "off",
    "--kubeconfig",
    await server.api.server.kubeconfig("unprivileged"),
  );
  expect(code).toBe(1);
  expect(stdout).toMatch(/^fail +rights +This identity lacks (\d+) of the \1 permissions of an agent: get nodes; list nodes; /m);
  expect(stdout).not.toContain("kernel vrf");
  expect(stdout).toMatch(/^\d+ ok, \d+ warnings, \d+ failed$/m);
});

test("an unreachable API server fails", async () => {
  const nowhere = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "a", cluster: { server: "http://127.0.0.1:1" } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    users: [{ name: "a", user: {} }],
    "current-context": "a",
  });
  const file = `${server.directory}/nowhere.kubeconfig`;
  await writeFile(file, nowhere);
  const ended = await server.plumbline("doctor", "--kubeconfig", file, "-o", "json");
  expect(ended.code).toBe(1);
  expect(about(itemsOf(ended), "api")).toMatchObject({ level: "fail", message: expect.stringContaining("127.0.0.1:1") as string });
});

test("an unreadable kubeconfig fails, and the other checks are printed", async () => {
  const ended = await server.plumbline("doctor", "--kubeconfig", "/nowhere/kubeconfig", "-o", "json");
  expect(ended.code).toBe(1);
  expect(about(itemsOf(ended), "api")).toMatchObject({ level: "fail", message: expect.stringContaining("/nowhere/kubeconfig") as string });
  expect(about(itemsOf(ended), "permissions")?.level).toBe("ok");
});

test("without root it reads the kernel configuration instead of testing, and says so", async () => {
  const env = { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" };
  const asNone = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--", LAUNCHER, "doctor", "-o", "json"];
  const ended = await promisify(execFile)("setpriv", asNone, { env }).catch((error: unknown) => error as CommandResult);
  const findings = itemsOf(ended);
  expect(about(findings, "permissions")?.level).toBe("warn");
  expect(about(findings, "kernel vxlan")?.message).toContain("not tried without root");
  expect(about(findings, "api")).toMatchObject({ level: "warn", message: "API server not checked: no kubeconfig found" });
});

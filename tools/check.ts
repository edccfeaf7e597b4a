import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type LockFile, missingFromLock, withoutHash } from "./complete-lock.ts";
import { staleFiles } from "./generated.ts";
import { importProblems } from "./import-directions.ts";
import { styleComplaints } from "./style-check.ts";

const ROOT = join(import.meta.dirname, "..");
const BIN = join(ROOT, "node_modules/.bin");

type Finding = string | undefined;

/** `npm run check`: everything that can be checked without running the code. Reports all problems at once. */
export async function run(): Promise<number> {
  const checks: Record<string, () => Promise<Finding>> = {
    format: () => command("oxfmt", "--check", "."),
    lint: () => command("oxlint", "--type-aware", "."),
    types: () => command("tsc", "-p", "tsconfig.json"),
    "types of the page": () => command("tsc", "-p", "src/web/ui/tsconfig.json"),
    "unused code": () => command("knip"),
    "import directions": async () => lines(importProblems(ROOT, await trackedFiles("src"))),
    style: async () => lines(await styleComplaints(ROOT)),
    "generated files": async () => lines((await staleFiles(ROOT)).map((path) => `${path} is stale: run ./plumbline generate`)),
    "lock file": async () => {
      const lock = await readLock();
      const missing = [...missingFromLock(lock).keys()].map((path) => `${path} is missing`);
      const unhashed = withoutHash(lock).map((path) => `${path} has no hash`);
      return lines([...missing, ...unhashed].map((problem) => `${problem}: run ./plumbline complete-lock`));
    },
    "go format": () => goFormat(),
  };
  const findings = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const started = performance.now();
      const finding = await check();
      console.log(`${finding ? "✗" : "✓"} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
      return finding && `\n── ${name}\n${finding}`;
    }),
  );
  const problems = findings.filter((finding) => finding !== undefined);
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? 0 : 1;
}

async function command(name: string, ...args: string[]): Promise<Finding> {
  try {
    await promisify(execFile)(join(BIN, name), args, { cwd: ROOT, maxBuffer: 1 << 26 });
    return undefined;
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as { stdout?: string; stderr?: string; message: string };
    return `${stdout}${stderr}`.trim() || message;
  }
}

async function readLock(): Promise<LockFile> {
  return JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")) as LockFile;
}

async function trackedFiles(directory: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("git", ["ls-files", "--cached", "--others", "--exclude-standard", directory], { cwd: ROOT });
  return stdout.split("\n").filter((file) => /\.tsx?$/.test(file));
}

/** Only where Go is at hand: the check needs no Go to say what it says of TypeScript. */
async function goFormat(): Promise<Finding> {
  const result = await promisify(execFile)("gofmt", ["-l", "lab", "bench"], { cwd: ROOT }).catch(() => undefined);
  return result?.stdout ? `gofmt would change ${result.stdout.trim()}` : undefined;
}

function lines(problems: readonly string[]): Finding {
  return problems.length > 0 ? problems.join("\n") : undefined;
}

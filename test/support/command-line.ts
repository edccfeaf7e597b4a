import { execFile } from "node:child_process";
import { join } from "node:path";

export const LAUNCHER = join(import.meta.dirname, "../../plumbline");

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `plumbline` as a person would, and says how it ended. */
export function plumbline(args: readonly string[], env: Record<string, string> = {}, input = ""): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(LAUNCHER, args, { env: { ...process.env, ...env }, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr });
    });
    child.stdin?.end(input);
  });
}

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";

export type RunOnNode = (command: readonly string[]) => Promise<CommandResult>;

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The timeout of each command. */
const SECONDS = 120;

/** Runs all commands in one shell: entering a node takes longer than most commands. */
export async function runOnNode(run: RunOnNode, commands: readonly (readonly string[])[]): Promise<CommandResult[]> {
  const mark = `--- ${randomUUID()}`;
  const script = commands.map(
    (command) => `timeout ${SECONDS} ${command.map(quoted).join(" ")} </dev/null; printf '\\n%s\\n' "$? ${mark}"; echo "${mark}" >&2`,
  );
  const { code, stdout, stderr } = await run(["sh", "-c", script.join("\n")]);
  const answers = stdout.split(` ${mark}\n`);
  const errors = stderr.split(`${mark}\n`);
  return commands.map((_, at) => {
    const [, output = "", ended] = /^([\s\S]*)\n(\d+)$/.exec(answers[at] ?? "") ?? [];
    return {
      code: ended === undefined || at >= answers.length - 1 ? code || -1 : Number(ended),
      stdout: output,
      stderr: errors[at] ?? stderr,
    };
  });
}

function quoted(arg: string): string {
  return `'${arg.replaceAll("'", "'\\''")}'`;
}

const DEADLINE_MS = 300_000;
const MOST_OUTPUT = 256 * 1024 * 1024;

/** A missing program results in 127, as in a shell. */
export function runHere(
  [program = "", ...args]: readonly string[],
  signal: AbortSignal,
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { signal, timeout: DEADLINE_MS, maxBuffer: MOST_OUTPUT }, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === "number" ? error.code : error.code === "ENOENT" ? 127 : -1) : 0;
      resolve({ code, stdout, stderr: stderr || (error?.message ?? "") });
    });
  });
}

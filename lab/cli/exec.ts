import type { LabHost } from "../net/lab-host.ts";

/** Runs a command on a host of the lab as if it ran here: input, output and exit code. On a terminal it has one too. */
export async function execOn(host: LabHost, command: readonly string[]): Promise<number> {
  const terminal = process.stdin.isTTY && process.stdout.isTTY;
  const running = host.start(terminal ? onTerminal(command) : command);
  running.onOutput = (chunk) => void process.stdout.write(chunk);
  running.onErrors = (chunk) => void process.stderr.write(chunk);
  if (terminal) process.stdin.setRawMode(true);
  process.stdin.on("data", (chunk: Buffer) => running.input(chunk));
  process.stdin.once("end", () => running.endInput());
  try {
    return await running.ended;
  } finally {
    if (terminal) process.stdin.setRawMode(false);
    process.stdin.destroy();
  }
}

/** script gives it a terminal of the size of ours. */
function onTerminal(command: readonly string[]): string[] {
  const { rows, columns } = process.stdout;
  const line = command.map((arg) => `'${arg.replaceAll("'", "'\\''")}'`).join(" ");
  return [
    "env",
    `TERM=${process.env["TERM"] ?? "xterm"}`,
    "script",
    "-qefc",
    `stty rows ${rows} columns ${columns}; exec ${line}`,
    "/dev/null",
  ];
}

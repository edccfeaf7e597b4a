import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { FrrError } from "./error.ts";
import type { FrrInstance } from "./instance.ts";

const SCRIPT = "/usr/lib/frr/frr-reload.py";

/** Runs FRR's script. `--reload` applies the configuration, rejected lines are skipped; `--test` prints what it would change. */
export async function reload(
  instance: FrrInstance,
  text: string,
  signal: AbortSignal,
  mode: "--reload" | "--test" = "--reload",
): Promise<string> {
  await access(instance.exec.path(SCRIPT)).catch((cause: unknown) => {
    throw new FrrError("NotInstalled", `${instance.exec.path(SCRIPT)} does not exist; install the Debian package frr-pythontools`, cause);
  });
  // In a separate directory: the script may write the running configuration over the frr.conf there, which must not be the boot file.
  const directory = await mkdtemp(join(instance.stateDirectory, "reload-"));
  try {
    const file = join(directory, "frr.conf");
    await writeFile(file, withHostname(text));
    const paths = ["--vty_socket", instance.runDirectory, "--confdir", directory, "--rundir", directory];
    // vtysh prints the error on one stream, and its position on the other.
    const { code, output } = await instance.exec.runIntoFile(SCRIPT, [mode, "--stdout", ...paths, file], join(directory, "output"), signal);
    if (code !== 0) throw new FrrError("ReloadFailed", `frr-reload.py ${mode}: ${errorsIn(output)}`);
    return output;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** vtysh adds the host name to every configuration, and the script would remove it again. */
function withHostname(text: string): string {
  return /^hostname /m.test(text) ? text : `hostname ${hostname()}\n${text}`;
}

function errorsIn(output: string): string {
  // The script prints the output of vtysh as Python prints bytes.
  const text = stripVTControlCharacters(output).replaceAll(String.raw`\n`, "\n");
  const found = text.matchAll(/% (?!Can't open configuration file)(.+)(?:\nline \d+: Failure to communicate\S* to \w+, line: +(.+))?/g);
  const errors = new Set(
    found.map(([, message = "", line]) => (line === undefined ? message : `${line.trim()}: ${message}`).replaceAll(/ {2,}/g, " ").trim()),
  );
  return (errors.size > 0 ? [...errors].join("; ") : text.trim().split("\n").slice(-5).join("; ")).slice(0, 1000);
}

import { join } from "node:path";
import { goCommands } from "../go-commands.ts";
import type { Progress } from "../progress.ts";

const COMMANDS = ["gobgpd", "gobgp"] as const;

export type GobgpBinaries = Readonly<Record<(typeof COMMANDS)[number], string>>;

/** GoBGP, the daemon and its command line. */
export async function gobgpBinaries(progress: Progress): Promise<GobgpBinaries> {
  const packages = COMMANDS.map((command) => `github.com/osrg/gobgp/v4/cmd/${command}`);
  const directory = await goCommands({ title: "GoBGP", module: import.meta.dirname, packages }, progress);
  return { gobgpd: join(directory, "gobgpd"), gobgp: join(directory, "gobgp") };
}

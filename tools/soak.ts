import { parseArgs } from "node:util";
import { run as runTests } from "./test.ts";

/** The lab under random faults and changes, every fault of the drill, and everything that listens under random inputs. */
const SOAK = ["test/soak", "test/fuzz", "test/drill"];
/** Applications that move between two sites under random faults. */
const MOVES = ["test/failover/moves.test.ts"];
const USAGE = "usage: npm run soak -- [--minutes N] [--moves N [--no-faults | --earlier-rule]] [--seed N] [files...]";

/**
 * `npm run soak -- --minutes N`: the soak for so long. With files: these suites, with counts in the thousands; each scales by PLUMBLINE_SOAK_MINUTES.
 * `npm run soak -- --moves N`: so many moves of applications between two sites, with faults unless told otherwise.
 * `--earlier-rule`: without faults, by the rule before ADR 17, which loses data.
 */
export async function run(args: readonly string[]): Promise<number> {
  const options = {
    minutes: { type: "string" },
    moves: { type: "string" },
    seed: { type: "string" },
    "no-faults": { type: "boolean" },
    "earlier-rule": { type: "boolean" },
  } as const;
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch {
    console.error(USAGE);
    return 2;
  }
  const { values, positionals: files } = parsed;
  const { minutes = "10", moves, seed } = values;
  if (![minutes, moves ?? "1"].every(isPositive) || (seed !== undefined && !/^\d+$/.test(seed))) {
    console.error(USAGE);
    return 2;
  }
  process.env["PLUMBLINE_SOAK_MINUTES"] = minutes;
  if (moves !== undefined) process.env["PLUMBLINE_SOAK_MOVES"] = moves;
  if (values["no-faults"]) process.env["PLUMBLINE_SOAK_FAULTS"] = "none";
  if (values["earlier-rule"]) process.env["PLUMBLINE_SOAK_RULE"] = "earlier";
  if (seed !== undefined) process.env["PLUMBLINE_SOAK_SEED"] = seed;
  return runTests(files.length > 0 ? files : moves === undefined ? SOAK : MOVES);
}

function isPositive(text: string): boolean {
  return Number.isFinite(Number(text)) && Number(text) > 0;
}

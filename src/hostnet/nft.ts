import { join } from "node:path";
import { KernelError } from "./error.ts";
import { feed, type RunOptions } from "./run.ts";

/** nftables applies the text atomically. */
export async function nft(text: string, options: RunOptions): Promise<void> {
  const { namespace } = options;
  const program = ["nft", "-f", "-"] as const;
  const inside = namespace === undefined ? program : (["nsenter", `--net=${join("/run/netns", namespace)}`, "--", ...program] as const);
  const { code, errors, about } = await feed(inside, text, options);
  if (code === 0) return;
  if (/failed to execute nft/.test(errors)) throw new KernelError("Unreachable", errors.trim(), about);
  throw new KernelError("Rejected", firstProblem(errors), about);
}

/** Without the position and the quoted text. */
function firstProblem(output: string): string {
  return /Error: (.+)/.exec(output)?.[1] ?? output.trim().slice(0, 500);
}

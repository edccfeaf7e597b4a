import { print } from "../../kube/printable.ts";
import type { Removal } from "../../hostnet/removal.ts";
import { EXIT, failWith } from "./exit.ts";

/** Lists what can be removed; with `yes`, removes it. */
export async function clean(
  found: readonly Removal[],
  { what, yes, signal }: { what: string; yes: boolean; signal: AbortSignal },
): Promise<void> {
  if (found.length === 0) print(`Nothing to remove: the ${what} left nothing on this machine.\n`);
  for (const { says, run } of found) {
    print(says.map((line) => `${line}\n`).join(""));
    if (!yes) continue;
    try {
      await run(signal);
    } catch (error) {
      failWith(error instanceof Error ? error.message : String(error), EXIT.no);
    }
  }
  if (found.length > 0 && !yes) print(`\nNothing removed yet. Run: plumbline ${what.replace(" ", "")} clean --yes\n`);
}

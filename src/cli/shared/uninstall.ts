import { print } from "../../kube/printable.ts";
import type { Removal } from "../../hostnet/removal.ts";
import { EXIT, failWith } from "./exit.ts";

/** Says what there is to take away, and with `yes` takes it away. */
export async function clean(
  found: readonly Removal[],
  { what, yes, signal }: { what: string; yes: boolean; signal: AbortSignal },
): Promise<void> {
  if (found.length === 0) print(`There is nothing of the ${what} on this machine.\n`);
  for (const { says, run } of found) {
    print(says.map((line) => `${line}\n`).join(""));
    if (!yes) continue;
    try {
      await run(signal);
    } catch (error) {
      failWith(error instanceof Error ? error.message : String(error), EXIT.no);
    }
  }
  if (found.length > 0 && !yes) print(`\nNothing is done yet. To do it: plumbline ${what.replace(" ", "")} clean --yes\n`);
}

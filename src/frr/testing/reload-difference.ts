import type { FrrInstance } from "../instance.ts";
import { reload } from "../reload.ts";

/** The lines that FRR's script would send, with their contexts; empty if there is no difference. */
export async function reloadDifference(instance: FrrInstance, text: string, signal: AbortSignal): Promise<string[]> {
  const [, ...blocks] = (await reload(instance, text, signal, "--test")).split(/^Lines To (?:Delete|Add)\n=+\n/m);
  return blocks.flatMap((block) => block.split("\n")).filter((line) => line.trim() !== "");
}

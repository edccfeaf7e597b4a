import { printable } from "../../kube/printable.ts";

export function warn(sentence: string): void {
  process.stderr.write(`Warning: ${printable(sentence)}\n`);
}

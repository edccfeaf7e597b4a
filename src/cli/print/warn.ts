import { printError, printable } from "../../kube/printable.ts";

export function warn(sentence: string): void {
  printError(`Warning: ${printable(sentence)}\n`);
}

import { s } from "../schema.ts";

/** A network interface, as the kernel allows it to be called and no stranger. */
export function interfaceName(doc: string) {
  return s.string({ doc, maxLength: 15, pattern: "^[a-zA-Z][a-zA-Z0-9._-]*$" });
}

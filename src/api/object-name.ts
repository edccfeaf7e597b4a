import { createHash } from "node:crypto";

/** The longest an object's name and a label's value may be. */
export const MAX_NAME_LENGTH = { name: 253, label: 63 };

/** The name itself where it fits, otherwise its beginning with a hash of the whole. */
export function objectName(name: string, longest: number): string {
  return name.length <= longest ? name : hashedName(name, name, longest);
}

/** `<readable>-<hash of the identity>`, the readable part as long as there is room. */
export function hashedName(readable: string, identity: string, longest: number): string {
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, 10);
  // Between two dots, and before a dash that ends a part, a name must have a letter or digit.
  const beginning = readable.slice(0, longest - 1 - hash.length).replace(/[^a-z0-9]+$/i, "");
  return `${beginning}-${hash}`;
}

import { createHash } from "node:crypto";

/** The limits of an object's name and a label's value. */
export const MAX_NAME_LENGTH = { name: 253, label: 63 };

/** Shortened with a hash if it is too long. */
export function objectName(name: string, longest: number): string {
  return name.length <= longest ? name : hashedName(name, name, longest);
}

/** `<readable>-<hash of the identity>`, shortened to fit. */
export function hashedName(readable: string, identity: string, longest: number): string {
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, 10);
  // A part of a name must end with a letter or digit.
  const beginning = readable.slice(0, longest - 1 - hash.length).replace(/[^a-z0-9]+$/i, "");
  return `${beginning}-${hash}`;
}

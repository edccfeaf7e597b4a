import { s } from "../schema.ts";

export function nodeSelector() {
  return s.labelSelector({ doc: "The nodes that this object is for, by their labels. Without it, or when it is empty, every node." });
}

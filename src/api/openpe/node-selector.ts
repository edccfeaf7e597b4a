import { s } from "../schema.ts";

export function nodeSelector() {
  return s.labelSelector({ doc: "Selects nodes by their labels. Missing or empty: every node." });
}

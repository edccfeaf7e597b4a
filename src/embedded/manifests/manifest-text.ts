import { stringify } from "yaml";
import type { KubeObject } from "../../api/kind.ts";
import { same } from "../kinds/json.ts";
import { readYaml } from "./yaml-value.ts";

/** An object as YAML that kubectl and everyone else reads as the same object. */
export function manifestText(object: KubeObject): string {
  const plain: unknown = JSON.parse(JSON.stringify(object));
  // By the rules of YAML 1.1 more texts need quotes: "yes", "0644".
  const text = stringify(plain, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false });
  const read = readYaml(text);
  const isSame = typeof read === "object" && "value" in read && same(read.value, plain);
  return isSame ? text : `${JSON.stringify(plain, null, 2)}\n`;
}

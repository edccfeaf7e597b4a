import { stringify } from "yaml";
import { crdOf } from "./crd.ts";
import type { CustomKind } from "../define-kind.ts";

/** The CustomResourceDefinition as `deploy/crds/` holds it. */
export function crdYaml(kind: CustomKind): string {
  return stringify(crdOf(kind), { lineWidth: 120, aliasDuplicateObjects: false });
}

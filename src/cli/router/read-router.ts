import type { KubeObject } from "../../api/kind.ts";
import type { Failure } from "../../resilience/failure.ts";
import { EXIT, failWith } from "../shared/exit.ts";
import { validateManifest } from "../manifests/schema-rules.ts";
import { readInputs, titleOf } from "../manifests/input.ts";

/**
 * The router's objects among manifests, with defaults filled: those of its namespace or without one. Rejected objects are reported and left
 * out.
 */
export async function readRouter(paths: readonly string[], routerNamespace: string): Promise<KubeObject[]> {
  const { inputs, unreadable } = await readInputs(paths);
  for (const { file, line, message } of unreadable) failWith(`${file}:${line}: ${message}`, EXIT.no);
  return inputs.flatMap((input) => {
    const { object, file } = input;
    const { namespace = routerNamespace } = object.metadata;
    const { admitted, complaints } = validateManifest({
      ...object,
      metadata: { ...object.metadata, ...(object.kind !== "Node" && { namespace }) },
    });
    if (object.kind !== "Node" && namespace !== routerNamespace) return [];
    for (const { field, message } of complaints)
      failWith(`${file}:${input.lineOf(field)}: ${titleOf(object)}: ${field}: ${message}`, EXIT.no);
    return admitted ?? [];
  });
}

export function printFailure({ kind, name, reason, field, message }: Failure): void {
  failWith(`${kind} ${name}: ${reason}: ${field === "" ? "" : `${field}: `}${message}`, EXIT.no);
}

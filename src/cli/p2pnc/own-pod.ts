import { join } from "node:path";
import { CliError, EXIT } from "../shared/exit.ts";

export interface OwnPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid?: string;
}

/** The pod that this container is in, as the downward API tells. */
export function ownPod(): OwnPod {
  const { POD_NAME: name, POD_NAMESPACE: namespace, POD_UID: uid } = process.env;
  if (!name) throw missing("POD_NAME", "metadata.name");
  if (!namespace) throw missing("POD_NAMESPACE", "metadata.namespace");
  return { name, namespace, ...(uid && { uid }) };
}

/** Several pods of one machine may be given the same directory of it, and must not take each other's journals for their own. */
export function journalDirectory({ namespace, name }: OwnPod, stateDirectory: string): string {
  return join(stateDirectory, "connectivity", namespace, name);
}

function missing(variable: string, field: string): CliError {
  return new CliError(
    `${variable} is not set, so the checks of this pod cannot be found; set it from the downward API (fieldRef ${field}), or name targets: HOST:PORT`,
    EXIT.misuse,
  );
}

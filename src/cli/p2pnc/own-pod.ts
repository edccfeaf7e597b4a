import { CliError, EXIT } from "../exit.ts";

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

function missing(variable: string, field: string): CliError {
  return new CliError(
    `${variable} is not set, so the checks of this pod cannot be found; set it from the downward API (fieldRef ${field}), or name targets: HOST:PORT`,
    EXIT.misuse,
  );
}

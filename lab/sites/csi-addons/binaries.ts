import { join } from "node:path";
import { goCommands } from "../../go-commands.ts";
import type { Progress } from "../../progress.ts";

const CONTROLLER = "github.com/csi-addons/kubernetes-csi-addons/cmd/manager";

/** Of the older ones only the controller is built: it speaks the same interface. */
export type CsiAddonsVersion = "0.14" | "0.13" | "0.12";

export async function csiAddonsController(version: CsiAddonsVersion, progress: Progress): Promise<string> {
  if (version === "0.14") return join(await built(progress), "manager");
  const module = join(import.meta.dirname, `../csi-addons-${version}`);
  return join(await goCommands({ title: `csi-addons-${version}`, module, packages: [CONTROLLER] }, progress), "manager");
}

/** The storage of the lab, behind the interface that the controller speaks to a driver. */
export async function replicationDriver(progress: Progress): Promise<string> {
  return join(await built(progress), "replication-driver");
}

function built(progress: Progress): Promise<string> {
  return goCommands({ title: "csi-addons", module: import.meta.dirname, packages: [CONTROLLER, "."] }, progress);
}

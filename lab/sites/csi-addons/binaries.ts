import { join } from "node:path";
import { goCommands } from "../../go-commands.ts";
import type { Progress } from "../../progress.ts";

const CONTROLLER = "github.com/csi-addons/kubernetes-csi-addons/cmd/manager";

export interface CsiAddonsBinaries {
  /** csi-addons' own controller. */
  readonly manager: string;
  /** The storage of the lab, behind the interface that the controller speaks to a driver. */
  readonly driver: string;
}

export async function csiAddonsBinaries(progress: Progress): Promise<CsiAddonsBinaries> {
  const directory = await goCommands({ title: "csi-addons", module: import.meta.dirname, packages: [CONTROLLER, "."] }, progress);
  return { manager: join(directory, "manager"), driver: join(directory, "replication-driver") };
}

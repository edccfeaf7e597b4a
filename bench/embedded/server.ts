import { startEmbedded } from "../../src/embedded/embedded.ts";
import { createLog } from "../../src/kube/log.ts";

/** Everything in the directory is read, and whoever connects is served. */
export interface Serving {
  socket: string;
}

const [directory = ""] = process.argv.slice(2);
const { socket } = await startEmbedded({ directory, log: createLog({ level: "warn" }) });
process.send?.({ socket } satisfies Serving);

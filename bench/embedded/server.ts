import { startEmbedded } from "../../src/embedded/embedded.ts";
import { createLog } from "../../src/kube/log.ts";

/** Reads everything in the directory, and serves all clients. */
export interface Serving {
  socket: string;
}

const [directory = ""] = process.argv.slice(2);
const { socket } = await startEmbedded({ directory, log: createLog({ level: "warn" }) });
process.send?.({ socket } satisfies Serving);

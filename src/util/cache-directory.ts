import { homedir } from "node:os";
import { join } from "node:path";

/** Outlives the checkout: a second clone builds nothing. */
export function cacheDirectory(): string {
  return join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "plumbline");
}

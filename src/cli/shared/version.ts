import { readFileSync } from "node:fs";

declare const PLUMBLINE_VERSION: string | undefined;

/** Set by the bundler; in a checkout it is read from package.json. */
export const VERSION: string =
  typeof PLUMBLINE_VERSION === "string"
    ? PLUMBLINE_VERSION
    : (JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string }).version;

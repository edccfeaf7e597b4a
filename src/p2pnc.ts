import { runP2pnc } from "./cli/p2pnc/program.ts";

// Before the first thread is needed: a lookup holds one for as long as a name server is silent, and may have only half of them. One pod has few names to look up.
process.env["UV_THREADPOOL_SIZE"] ??= "8";

// Not awaited here: in the bundle other chunks import from this one, and would wait for it while it waits for them.
void runP2pnc(process.argv.slice(2)).then((code) => (process.exitCode = code));

import { runProgram } from "./cli/program.ts";

// Not awaited here: in the bundle other chunks import from this one, and would wait for it while it waits for them.
void runProgram(process.argv.slice(2)).then((code) => (process.exitCode = code));

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { pollEverySecond } from "./poller.ts";

interface Summary {
  default?: { ipv4Unicast?: { peers?: Record<string, { state?: string }> } };
}

const [, , directory = "", neighbor = ""] = process.argv;
const vtysh = promisify(execFile);

pollEverySecond(
  async () => {
    const { stdout } = await vtysh("vtysh", ["--vty_socket", directory, "-c", "show bgp vrf all summary json"]);
    return (JSON.parse(stdout) as Summary).default?.ipv4Unicast?.peers?.[neighbor]?.state === "Established";
  },
  // What vtysh used; what Node needs to run it is not held against it. Fields 16 and 17 count hundredths of a second.
  () => {
    const fields = readFileSync("/proc/self/stat", "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return (Number(fields[13]) + Number(fields[14])) * 10;
  },
);

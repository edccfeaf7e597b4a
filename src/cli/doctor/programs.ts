import { access, constants, readFile } from "node:fs/promises";
import { join } from "node:path";
import { daemonsOf } from "../../frr/daemons.ts";
import { parseVersion } from "../../frr/client.ts";
import type { RunOnNode } from "../support-bundle/run-on-node.ts";
import { fail, type CheckFinding, ok, warn } from "./finding.ts";

/** With the Debian package of each. */
const PROGRAMS: Readonly<Record<string, string>> = {
  ip: "iproute2",
  nft: "nftables",
  nsenter: "util-linux",
  setpriv: "util-linux",
  python3: "python3",
};
const FRR = "/usr/lib/frr";
const OLDEST = { major: 8, minor: 4 };

export async function findPrograms(path = process.env["PATH"] ?? ""): Promise<CheckFinding[]> {
  const missing: string[] = [];
  for (const name of Object.keys(PROGRAMS)) if (!(await isIn(path.split(":"), name))) missing.push(name);
  if (missing.length === 0) return [ok("programs", `${Object.keys(PROGRAMS).join(", ")} found`)];
  const packages = [...new Set(missing.map((name) => PROGRAMS[name] ?? name))];
  const message = `${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not installed; in a cluster the image has them`;
  return [warn("programs", message, `for agents outside of Pods and for \`up\`: apt install ${packages.join(" ")}`)];
}

/** Checks the installed FRR; running daemons are not queried. */
export async function findFrr(run: RunOnNode, directory = FRR): Promise<CheckFinding> {
  const about = "frr";
  const { code, stdout, stderr } = await run([join(directory, "zebra"), "--version"]);
  const version = parseVersion(stdout);
  const install = "for agents outside of Pods and for `up`: apt install frr";
  if (code !== 0 || !version) {
    const why = stderr.includes("ENOENT") || code === 127 ? "FRR is not installed" : `zebra --version ended with ${code}`;
    return warn(about, `${why}; in a cluster the image contains FRR`, install);
  }
  if (version.major < OLDEST.major || (version.major === OLDEST.major && version.minor < OLDEST.minor))
    return fail(about, `FRR ${version.text} is older than ${OLDEST.major}.${OLDEST.minor}, the oldest supported version`, install);
  const daemons = daemonsOf(version);
  const missing: string[] = [];
  for (const daemon of daemons) if (!(await isIn([directory], daemon))) missing.push(daemon);
  if (missing.length > 0)
    return fail(
      about,
      `FRR ${version.text} is installed without ${missing.join(" and ")}`,
      "install the whole package: apt install --reinstall frr",
    );
  if (!/^frr:/m.test(await readFile("/etc/passwd", "utf8").catch(() => "")))
    return fail(about, `FRR ${version.text} is installed, but the user frr is missing`, "install the package: apt install --reinstall frr");
  return ok(about, `FRR ${version.text} with ${daemons.join(", ")}`);
}

async function isIn(directories: readonly string[], name: string): Promise<boolean> {
  for (const directory of directories) {
    const there = await access(join(directory, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (there) return true;
  }
  return false;
}

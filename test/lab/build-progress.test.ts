import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { plumbline } from "../support/command-line.ts";

/** What it builds is no Kubernetes. */
const GO = `#!/bin/sh
case $1 in
  env) echo go1.99.1 ;;
  list) echo one; echo two ;;
  build)
    while [ "$1" != -o ]; do shift; done
    printf '#!/bin/sh\\necho "no etcd"; exit 1\\n' >"$2/kube"
    chmod 755 "$2/kube"
    ;;
esac
`;

test("lab up in the background prints the begin and the end of a one-time build, each with the time", async () => {
  const home = await mkdtemp(join(tmpdir(), "plumbline-lab-test-"));
  const [programs, runtime] = [join(home, "bin"), join(home, "runtime")];
  try {
    for (const directory of [programs, runtime]) await mkdir(directory);
    await writeFile(join(programs, "go"), GO);
    await chmod(join(programs, "go"), 0o755);
    const { code, stdout, stderr } = await plumbline(["lab", "up", "--kube", "--kernel", "own", "--page-address", "off"], {
      KUBEBUILDER_ASSETS: "",
      PATH: `${programs}:${process.env["PATH"]}`,
      XDG_CACHE_HOME: join(home, "cache"),
      XDG_RUNTIME_DIR: runtime,
    });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr.replaceAll(/(?:\d+m)?\d+(?=s\)| s )/g, "N").split("\n")).toEqual([
      "Creating the lab's namespaces (Ns)",
      "Building Kubernetes v1.37.1 (once; about eight minutes on two cores) (Ns)",
      "Kubernetes v1.37.1 is ready after N s (Ns)",
      "Starting etcd (Ns)",
      "plumbline: etcd ended while starting:",
      "no etcd",
      "",
    ]);
    expect(await readdir(runtime)).toEqual([]);
  } finally {
    await rm(home, { recursive: true });
  }
});

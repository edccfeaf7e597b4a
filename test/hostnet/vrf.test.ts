import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryDirectory } from "../../lab/kube/etcd.ts";
import { startMachine } from "../../lab/machine/start.ts";
import { silent } from "../../lab/progress.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const [SEED, RUNS] = SOAK_MINUTES > 0 ? [Date.now() % 1_000_000, 30 * SOAK_MINUTES] : [7, 15];

test(
  "the same holds with VRFs and dummies, on a kernel that has them",
  async () => {
    const directory = await memoryDirectory("test");
    const started = await startMachine({ directory: directory.path, progress: silent });
    try {
      const fixture = join(import.meta.dirname, "fixtures/with-vrfs.ts");
      const command = [process.execPath, "--disable-warning=ExperimentalWarning", fixture, String(SEED), String(RUNS)];
      expect(await started.machine.run(command)).toEqual({ code: 0, stdout: `${RUNS} transitions\n`, stderr: "" });
    } finally {
      await started.stop();
      await directory.remove();
    }
  },
  240_000 * (1 + SOAK_MINUTES),
);

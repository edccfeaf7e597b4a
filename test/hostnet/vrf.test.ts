import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryDirectory } from "../../lab/kube/etcd.ts";
import { startMachine } from "../../lab/machine/start.ts";
import { silent } from "../../lab/progress.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const [SEED, RUNS] = SOAK_MINUTES > 0 ? [Date.now() % 1_000_000, 30 * SOAK_MINUTES] : [7, 15];
const PATIENCE_MS = 240_000;

/** A kernel that has VRFs and dummies, for both. */
let directory: Awaited<ReturnType<typeof memoryDirectory>>;
let started: Awaited<ReturnType<typeof startMachine>>;
beforeAll(async () => {
  directory = await memoryDirectory("test");
  started = await startMachine({ directory: directory.path, progress: silent });
}, PATIENCE_MS);
afterAll(async () => {
  await started?.stop();
  await directory?.remove();
}, PATIENCE_MS);

function runs(fixture: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const path = join(import.meta.dirname, "fixtures", fixture);
  return started.machine.run([process.execPath, "--disable-warning=ExperimentalWarning", path, ...args]);
}

test(
  "any state with VRFs and dummies becomes any other, on a kernel that has them",
  async () => {
    expect(await runs("with-vrfs.ts", String(SEED), String(RUNS))).toEqual({ code: 0, stdout: `${RUNS} transitions\n`, stderr: "" });
  },
  PATIENCE_MS * (1 + SOAK_MINUTES),
);

test(
  "a VNI is down as soon as one of its links is down, deleted, or out of its bridge",
  async () => {
    const { stdout, stderr } = await runs("vnis-down.ts");
    expect([...stdout.trim().split("\n"), stderr]).toEqual([
      "nothing: 100 Up, 110 Up",
      "link set vni110 down: 100 Up, 110 Down vni110 is down",
      "link set vni110 nomaster: 100 Up, 110 Down vni110 is not in bridge br-pe-110",
      "link set pe-110 nomaster: 100 Up, 110 Down pe-110 is not in bridge br-pe-110",
      "link set br-pe-110 down: 100 Up, 110 Down bridge br-pe-110 is down",
      "link set vni100 down: 100 Down vni100 is down, 110 Up",
      "link set br-pe-100 down: 100 Down bridge br-pe-100 is down, 110 Up",
      "link set red down: 100 Down VRF red is down, 110 Down VRF red is down",
      "link set lound down: 100 Down lound, which holds the VTEP address, is down, 110 Down lound, which holds the VTEP address, is down",
      "link del vni110: 100 Up, 110 Down vni110 is missing",
      "",
    ]);
  },
  PATIENCE_MS,
);

test.each([
  ["8.4", "route"],
  ["10", "inactive route"],
])(
  "with FRR %s an import reaches the same VNI on another node, and no other VNI",
  async (release, otherVni) => {
    const { stdout, stderr } = await runs("import-between-vnis.ts", release);
    expect([...stdout.trim().split("\n"), stderr]).toEqual(["300 300: route, traffic", `302 303: ${otherVni}, no traffic`, ""]);
  },
  PATIENCE_MS,
);

test(
  "a check from the router is sent in the VRFs with the most specific route, and not with an address that every node has",
  async () => {
    const { stdout, stderr } = await runs("connect-from-vrfs.ts");
    expect([...stdout.trim().split("\n"), stderr]).toEqual([
      "the most specific route: red connected",
      "a more specific one in another VRF: blue connected",
      "two VRFs with the same prefix: blue ETIMEDOUT, red connected",
      "a default route: default connected",
      "a requested VRF: red connected",
      "a requested VRF without a route: blue EHOSTUNREACH",
      "a VRF that does not exist: green ENODEV",
      "a source address that every node has: blue shared 192.169.10.1",
      "a source address that is shared in another VRF only: red connected",
      "a default route in two VRFs, one of which can be used: red connected",
      "an address of the VRF's own: blue connected",
      "an address of the router itself: blue own host",
      "",
    ]);
  },
  PATIENCE_MS,
);

test.each(["8.4", "10"])(
  "with FRR %s packets of a VRF pass after its VNI was edited, and edited back",
  async (release) => {
    const { stdout, stderr } = await runs("edit-l3vni.ts", release);
    const works = [300, 301, 300].map((vni) => `${vni}: router MACs, traffic`);
    expect([...stdout.trim().split("\n"), stderr]).toEqual([...works, ""]);
  },
  PATIENCE_MS * 2,
);

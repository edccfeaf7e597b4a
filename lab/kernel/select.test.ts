import { expect, test } from "vitest";
import { LabError } from "../error.ts";
import { type Progress, silent } from "../progress.ts";
import { type Feature, firstThatStarts, type Kernel, kernelsToTry } from "./select.ts";

const PODS: readonly Feature[] = ["vrf", "nftables"];

test.each<{ what: string; given: Partial<Parameters<typeof kernelsToTry>[0]>; kernels: readonly Kernel[] }>([
  { what: "this machine's own has all: own", given: {}, kernels: ["own"] },
  { what: "it lacks what this lab does not need: own", given: { missing: ["nftables", "netem"] }, kernels: ["own"] },
  { what: "it lacks VRF, our build is cached", given: { missing: ["vrf"], isBuilt: true }, kernels: ["built", "packaged", "old"] },
  { what: "it lacks VRF, our build is not cached: packages only", given: { missing: ["vrf"] }, kernels: ["packaged", "old"] },
  { what: "nftables are needed: our build, whether it is cached", given: { features: PODS, missing: ["nftables"] }, kernels: ["built"] },
  { what: "or not", given: { features: PODS, missing: ["vrf"], isBuilt: true }, kernels: ["built"] },
  { what: "--kernel own, whatever it lacks", given: { features: PODS, use: "own", missing: ["vrf", "nftables"] }, kernels: ["own"] },
  { what: "--kernel uml on a machine that lacks nothing", given: { use: "uml" }, kernels: ["packaged", "old"] },
  { what: "--kernel uml with our build", given: { use: "uml", isBuilt: true }, kernels: ["built", "packaged", "old"] },
  { what: "--kernel uml with pods", given: { use: "uml", features: PODS }, kernels: ["built"] },
  { what: "--kernel PATH: that one only", given: { use: "/x/linux", missing: ["vrf"], isBuilt: true }, kernels: [{ path: "/x/linux" }] },
])("$what", ({ given, kernels }) => {
  expect(kernelsToTry({ features: ["vrf"], use: undefined, missing: [], isBuilt: false, ...given })).toEqual(kernels);
});

/** Starts the kernels for which there is no problem; and what was printed meanwhile. */
async function starting(
  kernels: readonly Kernel[],
  problems: Readonly<Record<string, Error>>,
  signal?: AbortSignal,
): Promise<{ outcome: unknown; printed: string[] }> {
  const printed: string[] = [];
  const start = (kernel: Kernel) => {
    const problem = problems[typeof kernel === "string" ? kernel : kernel.path];
    return problem ? Promise.reject(problem) : Promise.resolve(kernel);
  };
  const progress: Progress = { ...silent, step: (text) => printed.push(text) };
  const outcome = await firstThatStarts(kernels, start, { progress, signal }).catch((error: unknown) => error);
  return { outcome, printed };
}

const notFetched = new LabError("NoBinaries", "It could not be built: it needs a Debian mirror\nE: no mirror");
const notBooted = new LabError("NotBooted", "It did not boot: panic. Remove it");
const noMemory = new LabError("NotStarted", "The lab needs 3 GB of memory");

test("the first kernel is used if it can be fetched and boots", async () => {
  expect(await starting(["built", "packaged", "old"], {})).toEqual({ outcome: "built", printed: [] });
});

test("one that cannot be fetched or does not boot is named with its cause, and the next is tried", async () => {
  expect(await starting(["built", "packaged", "old"], { built: notBooted, packaged: notFetched })).toEqual({
    outcome: "old",
    printed: [
      "It did not boot: panic. Remove it; trying User-Mode Linux of Debian testing",
      "It could not be built: it needs a Debian mirror; trying User-Mode Linux of this Debian release",
    ],
  });
});

test("the last one's problem is the command's", async () => {
  const { outcome } = await starting(["packaged", "old"], { packaged: notFetched, old: notBooted });
  expect(outcome).toBe(notBooted);
});

test("no other kernel helps against what is wrong with the machine", async () => {
  expect(await starting(["built", "packaged", "old"], { built: noMemory })).toEqual({ outcome: noMemory, printed: [] });
});

test("Ctrl-C, which ends a kernel that boots, does not make the next one start", async () => {
  expect(await starting(["built", "packaged"], { built: notBooted }, AbortSignal.abort())).toEqual({ outcome: notBooted, printed: [] });
});

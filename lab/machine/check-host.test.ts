import { expect, test } from "vitest";
import { missingMemory } from "./check-host.ts";

const GB = 2 ** 30;

test.each([
  { what: "enough for the machine alone", machineGb: 3, besideGb: 0, available: 3, free: 3, problem: undefined },
  {
    what: "enough for the machine, too little for an API server beside it",
    machineGb: 3,
    besideGb: 1,
    available: 3.5,
    free: 3.5,
    problem: "The lab needs 4 GB of memory and this machine has 3.5 GB free: end other programs, or use a larger machine",
  },
  { what: "enough for both: the API server is not in /dev/shm", machineGb: 3, besideGb: 1, available: 4, free: 3, problem: undefined },
  {
    what: "a small /dev/shm",
    machineGb: 3,
    besideGb: 1,
    available: 8,
    free: 0.0625,
    problem: "The lab needs 3 GB of memory and /dev/shm has 0.1 GB free: end other programs, or use a larger machine",
  },
  {
    what: "too little of both: the scarcer one is named",
    machineGb: 3,
    besideGb: 0,
    available: 1,
    free: 2,
    problem: "The lab needs 3 GB of memory and this machine has 1.0 GB free: end other programs, or use a larger machine",
  },
  {
    what: "an API server beside this machine's own kernel",
    machineGb: 0,
    besideGb: 1,
    available: 0.5,
    free: 0,
    problem: "The lab needs 1 GB of memory and this machine has 0.5 GB free: end other programs, or use a larger machine",
  },
])("$what", ({ machineGb, besideGb, available, free, problem }) => {
  const found = missingMemory({ machineGb, besideGb }, { available: available * GB, inFiles: { path: "/dev/shm", free: free * GB } });
  expect(found).toBe(problem);
});

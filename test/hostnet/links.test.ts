import { afterAll, beforeAll, expect, test } from "vitest";
import { createNamespaces, type TestNamespaces } from "../support/namespaces.ts";
import { states } from "./states.ts";
import { checkTransitions } from "./transitions.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const COURSE = SOAK_MINUTES > 0 ? { seed: Date.now() % 1_000_000, numRuns: 200 * SOAK_MINUTES } : { seed: 5, numRuns: 120 };
let namespaces: TestNamespaces;

beforeAll(() => {
  namespaces = createNamespaces(2);
});

afterAll(() => namespaces.remove());

test(
  "any state becomes any other in the kernel, without remaining steps and without changes of foreign links",
  async () => {
    const [host = "", router = ""] = namespaces.names;
    await expect(checkTransitions({ host, router }, states({ vrfs: false }), COURSE)).resolves.toBeUndefined();
  },
  300_000 * (1 + SOAK_MINUTES),
);

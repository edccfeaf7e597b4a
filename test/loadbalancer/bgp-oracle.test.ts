import * as fc from "fast-check";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reloadDifference } from "../../src/frr/testing/reload-difference.ts";
import { speakers } from "../../src/loadbalancer/testing/bgp-generators.ts";
import { speakerOn } from "../support/bgp-speaker.ts";
import { FRR_RELEASES, frrInNamespace, run, type FrrInNamespace } from "../support/frr.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const TRANSITIONS = { "8.4": 100 * (1 + SOAK_MINUTES), "10": 40 * (1 + SOAK_MINUTES) };
/** The script takes half a second of a core: asked now and then, and at the end of all. */
const COMPARED_EVERY = 5;
const SEED = SOAK_MINUTES > 0 ? Date.now() % 1_000_000 : 11;

describe.each(FRR_RELEASES)("FRR %s", (version) => {
  const timeout = (5 + 20 * SOAK_MINUTES) * 60_000;
  let frr: FrrInNamespace;
  beforeAll(async () => {
    frr = await frrInNamespace({ version, bgpPort: 0 });
    await run("ip", "-n", frr.netns, "link", "add", "eth0", "type", "veth", "peer", "name", "eth1");
    for (const name of ["eth0", "eth1"]) await run("ip", "-n", frr.netns, "link", "set", name, "up");
  });
  afterAll(() => frr.stop());

  test("any speaker becomes any other, and FRR's own script finds nothing to change", { timeout }, async ({ signal }) => {
    const states = fc.sample(speakers, { seed: SEED, numRuns: TRANSITIONS[version] });
    const onFrr = speakerOn(frr);
    for (const [index, wanted] of states.entries()) {
      const { failures, drift } = await onFrr.speaker.apply(wanted, signal);
      expect({ index, failures: failures.filter(({ reason }) => reason === "ApplicationFailed"), drift }).toEqual({
        index,
        failures: [],
        drift: [],
      });
      expect(await onFrr.speaker.apply(wanted, signal)).toMatchObject({ changed: 0, drift: [] });
      const judged = index % COMPARED_EVERY === 0 || index === states.length - 1;
      expect(judged ? await reloadDifference(frr.instance, onFrr.configuration, signal) : []).toEqual([]);
    }
  });

  test("restarted daemons get the same configuration from their boot file", { timeout }, async ({ signal }) => {
    const wanted = fc
      .sample(speakers, { seed: SEED + 2, numRuns: 40 })
      .reduce((a, b) => (a.services.size * a.config.peers.size >= b.services.size * b.config.peers.size ? a : b));
    const onFrr = speakerOn(frr);
    await onFrr.speaker.apply(wanted, signal);
    const stateDirectory = await mkdtemp(join(tmpdir(), "plumbline-boot-"));
    await writeFile(join(stateDirectory, "frr.conf"), onFrr.boot);
    const started = await frrInNamespace({ version, bgpPort: 0, stateDirectory });
    try {
      expect(await speakerOn(started).speaker.apply(wanted, signal)).toMatchObject({ changed: 0, drift: [] });
      expect(onFrr.boot).toContain(" network ");
    } finally {
      await started.stop();
      await rm(stateDirectory, { recursive: true, force: true });
    }
  });

  test("a speaker without saved state finds no difference", { timeout }, async ({ signal }) => {
    for (const wanted of fc.sample(speakers, { seed: SEED + 1, numRuns: 10 })) {
      await speakerOn(frr).speaker.apply(wanted, signal);
      expect(await speakerOn(frr).speaker.apply(wanted, signal)).toMatchObject({ changed: 0, drift: [] });
    }
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { merge, parse } from "../../src/frr/config.ts";
import type { ConfigLine } from "../../src/frr/fragment.ts";
import type { FrrInstance } from "../../src/frr/instance.ts";
import { reloadDifference } from "../../src/frr/testing/reload-difference.ts";
import { previewNode } from "../../src/router/preview.ts";
import { CASES } from "../../src/router/testing/golden-cases.ts";
import { FRR_RELEASES, frrInNamespace, type FrrRelease, run } from "../support/frr.ts";

const signal = AbortSignal.timeout(10 * 60_000);

/** What FRR says of itself and of the machine. */
const FRRS_OWN = /^(frr (version|defaults) |hostname |no ip(v6)? forwarding$)/;

/** Every line with its contexts. */
function paths(lines: readonly ConfigLine[], path: readonly string[] = []): string[] {
  return lines
    .filter(({ line }) => !FRRS_OWN.test(line))
    .flatMap(({ line, inside = [] }) => [[...path, line].join(" > ")].concat(paths(inside, [...path, line])))
    .sort();
}

async function running({ router }: FrrInstance): Promise<ConfigLine[]> {
  const daemons = await router.daemons();
  const texts = await Promise.all(daemons.map((daemon) => router.runningConfig(daemon, signal)));
  return merge(texts.map((text) => ({ owner: "", lines: parse(text) })));
}

/** FRR 10 prints two of these lines differently: the first is its default by then. */
function asPrintedBy(version: FrrRelease, lines: readonly string[]): string[] {
  if (version !== "10") return [...lines];
  return lines
    .filter((line) => !line.endsWith("nht resolve-via-default"))
    .map((line) => line.replace(/ebgp-multihop 255$/, "ebgp-multihop"));
}

describe.each(FRR_RELEASES)("FRR %s", (version) => {
  test.each(Object.entries(CASES))("prints the configuration of the router %s as it was rendered, line by line", async (_, observed) => {
    const { frr: text } = previewNode(observed);
    const stateDirectory = await mkdtemp(join(tmpdir(), "plumbline-render-"));
    await writeFile(join(stateDirectory, "frr.conf"), text);
    const frr = await frrInNamespace({ version, stateDirectory });
    try {
      expect(paths(await running(frr.instance))).toEqual(asPrintedBy(version, paths(parse(text))));
      await run("ip", "netns", "exec", frr.netns, "sysctl", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
      expect(asPrintedBy(version, await reloadDifference(frr.instance, text, signal))).toEqual([]);
    } finally {
      await frr.stop();
      await rm(stateDirectory, { recursive: true, force: true });
    }
  });
});

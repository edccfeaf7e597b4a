import { readFile, readdir, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrrInstance } from "../../src/frr/instance.ts";
import { reloadDifference } from "../../src/frr/testing/reload-difference.ts";
import { reload } from "../../src/frr/reload.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace } from "../support/frr.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const WANTED = `router bgp 64512
 bgp router-id 192.0.2.1
 neighbor 192.0.2.2 remote-as 64513
exit
`;

describe.each(FRR_RELEASES)("frr-reload.py of FRR %s", (version) => {
  let frr: FrrInNamespace;
  beforeAll(async () => {
    frr = await frrInNamespace({ version });
  });
  afterAll(() => frr.stop());

  test("reports the changes without applying them", async () => {
    expect(await reloadDifference(frr.instance, WANTED, signal)).toEqual(
      expect.arrayContaining(["router bgp 64512", " neighbor 192.0.2.2 remote-as 64513"]),
    );
    expect(await frr.instance.router.runningConfig("bgpd", signal)).not.toContain("router bgp");
  });

  test("applies the configuration, and then finds no difference", async () => {
    await reload(frr.instance, WANTED, signal);
    expect(await frr.instance.router.runningConfig("bgpd", signal)).toContain(" neighbor 192.0.2.2 remote-as 64513\n");
    expect(await reloadDifference(frr.instance, WANTED, signal)).toEqual([]);
  });

  test("removes everything for an empty configuration, and does not write the boot file", async () => {
    await writeFile(frr.instance.bootFile, WANTED);
    await reload(frr.instance, "", signal);
    expect(await frr.instance.router.runningConfig("bgpd", signal)).not.toContain("router bgp");
    expect(await readFile(frr.instance.bootFile, "utf8")).toBe(WANTED);
  });

  test("fails with FRR's message and leaves no files behind", async () => {
    const mistaken = WANTED.replace("192.0.2.2 remote-as", "192.0.2.2 remote-ass");
    await expect(reload(frr.instance, mistaken, signal)).rejects.toMatchObject({
      name: "FrrError",
      code: "ReloadFailed",
      message: "frr-reload.py --reload: Unknown command: neighbor 192.0.2.2 remote-ass 64513",
    });
    const early = WANTED.replace(/^( +)neighbor 192\.0\.2\.2 remote-as .*$/m, "$1neighbor 192.0.2.2 port 3");
    await expect(reload(frr.instance, early, signal)).rejects.toMatchObject({
      message: "frr-reload.py --reload: neighbor 192.0.2.2 port 3: Specify remote-as or peer-group commands first",
    });
    expect(await readdir(frr.instance.stateDirectory)).toEqual(["frr.conf", "log"]);
  });
});

test("a missing script is reported with the package that contains it", async () => {
  const frr = await frrInNamespace({ version: "8.4" });
  const elsewhere = new FrrInstance({ ...frr.options, root: frr.options.stateDirectory });
  await expect(reload(elsewhere, WANTED, signal)).rejects.toMatchObject({
    code: "NotInstalled",
    message: expect.stringContaining("install the Debian package frr-pythontools") as string,
  });
  await frr.stop();
});

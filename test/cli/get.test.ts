import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { L3VNI } from "../../src/api/openpe/l3vni.ts";
import { LAUNCHER } from "../support/command-line.ts";
import { SERVERS, type CommandLineServer } from "../support/servers.ts";

const signal = AbortSignal.timeout(10 * 60_000);
const namespace = "openperouter-system";

describe.each(SERVERS)("on %s", (_name, start) => {
  let server: CommandLineServer;
  const get = (...args: string[]) => server.plumbline("get", ...args);

  beforeAll(async () => {
    server = await start("cli-get");
    const vnis = server.client.resource(L3VNI);
    await vnis.create({ metadata: { name: "red", namespace, labels: { tenant: "a" } }, spec: vni("red", 100) }, { signal });
    await vnis.create({ metadata: { name: "blue", namespace }, spec: vni("blue", 200) }, { signal });
    await server.client
      .resource(IPAddressPool)
      .create({ metadata: { name: "edge", namespace: "metallb-system" }, spec: pool("192.0.2.0/24") }, { signal });
  });
  afterAll(() => server.stop());

  test("a kind is printed as a table with the server's columns", async () => {
    const { code, stdout, stderr } = await get("l3vni", "-n", namespace);
    expect({ code, stderr, table: withoutAges(stdout) }).toEqual({
      code: 0,
      stderr: "",
      table: "NAME   VRF    VNI   AGE\nblue   blue   200   …\nred    red    100   …\n",
    });
  });

  test("wide prints more columns, and -A the namespace as the first one", async () => {
    expect(withoutAges((await get("l3vnis", "-A", "-o", "wide")).stdout)).toBe(
      [
        "NAMESPACE             NAME   VRF    VNI   ASN     HOST ASN   AGE",
        "openperouter-system   blue   blue   200   64514   64515      …",
        "openperouter-system   red    red    100   64514   64515      …",
        "",
      ].join("\n"),
    );
  });

  test("the kind may be qualified by its group", async () => {
    expect(await get("l3vnis.v1alpha1.openpe.openperouter.github.io", "-n", namespace, "-o", "name")).toEqual({
      code: 0,
      stdout: "l3vni.openpe.openperouter.github.io/blue\nl3vni.openpe.openperouter.github.io/red\n",
      stderr: "",
    });
  });

  test("short names work, and core kinds have kubectl's columns", async () => {
    expect(withoutAges((await get("ns", "default")).stdout)).toBe("NAME      STATUS   AGE\ndefault   Active   …\n");
    expect((await get("cm", "-n", namespace, "-l", "a=b")).code).toBe(0);
  });

  test("-l selects by label", async () => {
    expect((await get("l3vni", "-n", namespace, "-l", "tenant in (a,b)", "-o", "name")).stdout).toBe(
      "l3vni.openpe.openperouter.github.io/red\n",
    );
  });

  test("an invalid selector is a usage error", async () => {
    const { code, stdout, stderr } = await get("l3vni", "-l", "a in (");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^plumbline: unable to parse requirement/);
  });

  test("json has the common shape, with complete objects", async () => {
    const { code, stdout } = await get("l3vni", "red", "-n", namespace, "-o", "json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      apiVersion: "plumbline.dev/cli/v1",
      kind: "L3VNI",
      items: [
        {
          apiVersion: "openpe.openperouter.github.io/v1alpha1",
          kind: "L3VNI",
          metadata: expect.objectContaining({ name: "red", namespace, labels: { tenant: "a" }, generation: 1 }) as object,
          spec: vni("red", 100),
        },
      ],
    });
    expect(stdout).not.toContain("managedFields");
    expect(JSON.parse((await get("l3vni", "-o", "json")).stdout)).toMatchObject({ kind: "L3VNI", items: [] });
  });

  test("yaml is documents that can be applied again", async () => {
    const one = (await get("l3vni", "red", "-n", namespace, "-o", "yaml")).stdout;
    expect(one).toMatch(/^apiVersion: openpe.openperouter.github.io\/v1alpha1\nkind: L3VNI\nmetadata:\n/);
    expect(parse(one)).toMatchObject({ metadata: { name: "red" }, spec: vni("red", 100) });
    const all = (await get("l3vni", "-A", "-o", "yaml")).stdout;
    expect(parseAllDocuments(all).map((document) => document.getIn(["metadata", "name"]))).toEqual(["blue", "red"]);
  });

  test("several kinds, or a category, are printed in sequence", async () => {
    const expected = [
      "NAMESPACE        NAME                            AUTO ASSIGN   AVOID BUGGY IPS   ADDRESSES          ASSIGNED IPV4   AVAILABLE IPV4   AGE",
      'metallb-system   ipaddresspool.metallb.io/edge   true          false             ["192.0.2.0/24"]                                    …',
      "",
      "NAMESPACE             NAME                                       VRF    VNI   AGE",
      "openperouter-system   l3vni.openpe.openperouter.github.io/blue   blue   200   …",
      "openperouter-system   l3vni.openpe.openperouter.github.io/red    red    100   …",
      "",
    ];
    expect(withoutAges((await get("ipaddresspools,l3vni", "-A")).stdout)).toBe(expected.join("\n"));
    const category = withoutAges((await get("plumbline", "-A")).stdout);
    for (const line of expected) expect(category).toContain(line);
    expect((await get("l3vni/red", "ipaddresspool/edge", "-n", namespace, "-o", "name")).stdout).toBe(
      "l3vni.openpe.openperouter.github.io/red\n",
    );
  });

  test("an empty result is no failure, and names namespaces with objects", async () => {
    expect(await get("l3vni")).toEqual({
      code: 0,
      stdout: "",
      stderr: "No l3vnis in namespace default; there are 2 in openperouter-system (-n chooses, -A shows all)\n",
    });
    expect(await get("rncs", "-A")).toEqual({ code: 0, stdout: "", stderr: "No routernodeconfigurationstatuses\n" });
  });

  test("a missing object is an error with the nearest name", async () => {
    expect(await get("l3vni", "rde", "-n", namespace)).toEqual({
      code: 1,
      stdout: "",
      stderr: "plumbline: L3VNI rde not found in namespace openperouter-system (Did you mean red?)\n",
    });
  });

  test("an object in another namespace is an error that names it, and the others are printed", async () => {
    const { code, stdout, stderr } = await get("l3vni", "red", "blue", "-n", "default", "-o", "json");
    expect({ code, items: (JSON.parse(stdout) as { items: unknown[] }).items, stderr }).toEqual({
      code: 1,
      items: [],
      stderr:
        "plumbline: L3VNI red not found in namespace default, but in openperouter-system: choose with -n\n" +
        "plumbline: L3VNI blue not found in namespace default, but in openperouter-system: choose with -n\n",
    });
    expect(withoutAges((await get("ns", "default", "nowhere")).stdout)).toBe("NAME      STATUS   AGE\ndefault   Active   …\n");
  });

  test("an unknown kind is a usage error with the nearest one", async () => {
    expect(await get("l3vin")).toEqual({
      code: 2,
      stdout: "",
      stderr: "plumbline: The server has no kind l3vin (Did you mean l3vni?)\n",
    });
  });

  test("invalid arguments are a usage error", async () => {
    expect(await get("l3vni", "red", "-A")).toMatchObject({
      code: 2,
      stderr: "plumbline: -A cannot be combined with names: use -n\n",
    });
    expect(await get("l3vni", "red", "-l", "a")).toMatchObject({ code: 2 });
    expect(await get("l3vni,ns", "-w")).toMatchObject({ code: 2, stderr: "plumbline: --watch takes one kind, or one object\n" });
  });

  test("a watch prints existing objects, then every change, and marks deletions", async () => {
    const maps = server.client.resource(ConfigMap);
    await maps.create({ metadata: { name: "first", namespace }, data: { a: "1" } }, { signal });
    const watching = spawn(LAUNCHER, ["get", "cm", "-n", namespace, "-w", "-l", "!ca"], { env: { ...process.env, ...server.env } });
    const lines = createInterface({ input: watching.stdout })[Symbol.asyncIterator]();
    const next = async () => withoutAges(`${(await lines.next()).value}\n`).trim();
    try {
      expect(await next()).toBe("NAME    DATA   AGE");
      expect(await next()).toBe("first   1      …");
      await maps.create({ metadata: { name: "second", namespace }, data: {} }, { signal });
      expect(await next()).toBe("second   0      …");
      await maps.patch({ name: "first", namespace }, { data: { b: "2" } }, { signal });
      expect(await next()).toBe("first    2      …");
      await maps.delete({ name: "first", namespace }, { signal });
      expect(await next()).toMatch(/^first {4}2 {6}\S+ {3}\(deleted\)$/);
    } finally {
      watching.kill();
      await once(watching, "exit");
    }
  });
});

function vni(vrf: string, number: number) {
  return { vrf, vni: number, vxlanport: 4789, hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: "192.168.10.0/24" } } };
}

function pool(...addresses: string[]) {
  return { addresses, autoAssign: true, avoidBuggyIPs: false };
}

function withoutAges(table: string): string {
  return table.replaceAll(/(?<=\s)\d+[smh]\d*s?$/gm, "…");
}

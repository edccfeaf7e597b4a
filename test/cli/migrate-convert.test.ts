import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plumbline } from "../support/command-line.ts";

const SITE = `apiVersion: v1
kind: Namespace
metadata: { name: openperouter-system }
---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3VNI
metadata: { name: tenant-red, namespace: openperouter-system, uid: 3b, resourceVersion: "7" }
spec:
  vrf: red
  vni: 100
  hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: 192.169.10.0/24 } }
---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L2VNI
metadata: { name: web, namespace: openperouter-system }
spec:
  vrf: red
  vni: 110
  hostmaster: { type: linux-bridge, linuxBridge: { autoCreate: true } }
`;

const SITE_OF_MAIN = `apiVersion: v1
kind: Namespace
metadata:
  name: openperouter-system
---
apiVersion: network.openperouter.io/v1alpha1
kind: L3VNI
metadata:
  name: tenant-red
  namespace: openperouter-system
spec:
  vrf: red
  vni: 100
  hostSession:
    asn: 64514
    localCIDR:
      ipv4: 192.169.10.0/24
    hostASN: 64515
---
apiVersion: network.openperouter.io/v1alpha1
kind: L2VNI
metadata:
  name: web
  namespace: openperouter-system
spec:
  routingDomain:
    type: L3VNI
    l3vni:
      name: tenant-red
  vni: 110
  hostMaster:
    type: LinuxBridge
    linuxBridge:
      lifecycle: Managed
`;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-convert-"));
  await writeFile(join(directory, "site.yaml"), SITE);
});
afterAll(() => rm(directory, { recursive: true }));

const convert = (text: string, ...args: string[]) => plumbline(["migrate", "convert", "-f", "-", ...args], {}, text);

test("a directory is printed in the fields of main, and other objects as they are", async () => {
  expect(await plumbline(["migrate", "convert", "-f", directory, "--to", "main"])).toEqual({ code: 0, stdout: SITE_OF_MAIN, stderr: "" });
});

test("manifests of main come back as v0.2 without a loss", async () => {
  const back = await convert(SITE_OF_MAIN, "--to", "v0.2", "-o", "json");
  const { items } = JSON.parse(back.stdout) as { items: { object: { spec: object }; losses: unknown[] }[] };
  expect(back.code).toBe(0);
  expect(items.map(({ object, losses }) => [object.spec, losses])).toEqual([
    [undefined, []],
    [{ vrf: "red", vni: 100, hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: "192.169.10.0/24" } } }, []],
    [{ vrf: "red", vni: 110, hostmaster: { type: "linux-bridge", linuxBridge: { autoCreate: true } } }, []],
  ]);
});

test("every loss is listed with object and field, and the answer is no", async () => {
  const reflector = `apiVersion: network.openperouter.io/v1alpha1
kind: Underlay
metadata: { name: fabric }
spec:
  asn: 64514
  interfaces: [{ type: NetworkDevice, networkDevice: { interfaceName: eth1 } }]
  routeReflector: {}
  neighbors:
    - { type: Internal, listenRange: 192.168.11.0/24 }
`;
  const { code, stdout, stderr } = await convert(reflector, "--to", "v0.2", "-o", "json");
  expect([code, stderr.trimEnd().split("\n")]).toEqual([
    1,
    [
      "plumbline: standard input:7: Underlay fabric: spec.routeReflector: v0.2 has no such setting",
      "plumbline: standard input:9: Underlay fabric: spec.neighbors[0].listenRange: v0.2 has no such setting",
      "plumbline: standard input:9: Underlay fabric: spec.neighbors[0]: Not valid in v0.2: Invalid value: exactly one of address and interface must be set",
    ],
  ]);
  const losses = (JSON.parse(stdout) as { items: { losses: { name: string; field: string }[] }[] }).items.flatMap((one) => one.losses);
  expect(losses.map(({ name, field }) => `${name} ${field}`)).toEqual([
    "fabric spec.routeReflector",
    "fabric spec.neighbors[0].listenRange",
    "fabric spec.neighbors[0]",
  ]);
});

test("an object that its schema rejects is not converted", async () => {
  const { code, stdout, stderr } = await convert(SITE.replace("vni: 100", "vni: 0"), "--to", "main");
  expect([code, stderr]).toEqual([
    1,
    "plumbline: standard input:10: L3VNI openperouter-system/tenant-red: spec.vni: Invalid value: 0: spec.vni in body should be greater than or equal to 1\n",
  ]);
  expect(stdout).not.toContain("kind: L3VNI");
});

test("an L2VNI that could mean two things is converted with a warning", async () => {
  const unclear = SITE.replace("  vrf: red\n  vni: 110", "  vni: 110").replace("hostasn: 64515", "hosttype: external");
  const { code, stdout, stderr } = await convert(unclear, "--to", "v0.2");
  expect([code, stderr]).toEqual([
    0,
    "Warning: standard input:16: L2VNI openperouter-system/web: spec.vrf: Read as v0.1, in a VRF of its own name, although other objects are of v0.2: set vrf, or annotation plumbline.dev/api: v0.2 for an L2VNI in no VRF\n",
  ]);
  expect(stdout).toContain("  vrf: web\n");
});

test("a version that does not exist is a misuse", async () => {
  expect((await convert(SITE, "--to", "v1")).code).toBe(2);
});

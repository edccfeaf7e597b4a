import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plumbline } from "../support/command-line.ts";

const MANIFESTS = `
apiVersion: v1
kind: Node
metadata: { name: n1, labels: { rack: a }, annotations: { openpe.io/nodeindex: "4" } }
---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: Underlay
metadata: { name: fabric, namespace: openperouter-system }
spec:
  asn: 64514
  nics: [eth1]
  neighbors: [{ asn: 64512, address: 192.168.11.2 }]
  evpn: { vtepcidr: 100.65.0.0/24 }
---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L2VNI
metadata: { name: red, namespace: openperouter-system }
spec: { vni: 110, l2gatewayips: [10.1.0.1/24], nodeSelector: { matchLabels: { rack: a } } }
---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3VNI
metadata: { name: red, namespace: openperouter-system }
spec: { vni: 200, vrf: red }
---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3VNI
metadata: { name: elsewhere, namespace: other }
spec: { vni: 200, vrf: other }
`;
const GREEN = `---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3VNI
metadata: { name: green, namespace: openperouter-system }
spec: { vni: 201, vrf: green }
`;

let directory: string;
let good: string;
let broken: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-router-"));
  good = join(directory, "good.yaml");
  broken = join(directory, "broken.yaml");
  await writeFile(good, MANIFESTS);
  await writeFile(broken, MANIFESTS + GREEN);
});
afterAll(() => rm(directory, { recursive: true }));

test("render router prints the FRR configuration of a node, with its index", async () => {
  const { code, stdout, stderr } = await plumbline(["render", "router", "-f", good, "--node", "n1"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("router bgp 64514\n bgp router-id 10.0.0.5\n");
  expect(stdout).toContain("  network 100.65.0.4/32\n");
  expect(stdout).toContain("vrf red\n vni 200\nexit-vrf\n");
  expect(stdout).toContain("  network 10.1.0.0/24\n");
});

test("render router prints the commands for the kernel, and accepts another index", async () => {
  const { code, stdout } = await plumbline(["render", "router", "-f", good, "--node", "n1", "--index", "9", "-o", "host"]);
  expect(code).toBe(0);
  expect(stdout).toContain("ip netns exec perouter sysctl -qw net.ipv4.conf.all.forwarding=1\n");
  expect(stdout).toContain("ip -n perouter addr replace 100.65.0.9/32 dev lound\n");
  expect(stdout).toMatch(/^ip link set dev eth1 .*netns perouter$/m);
  expect(stdout).toMatch(/^ip -n perouter link set dev vni110 .*addrgenmode none/m);
  expect(stdout).toMatch(/^ip -n perouter link add name vni110 .* id 110 dstport 4789 local 100\.65\.0\.9 dev lound nolearning$/m);
});

test("render router reports failures and prints the rest; json has both", async () => {
  const { code, stdout, stderr } = await plumbline(["render", "router", "-f", broken, "--node", "n1", "-o", "json"]);
  const sentence = "No healthy L2VNI exists for VRF 'green'";
  expect({ code, stderr }).toEqual({ code: 1, stderr: `plumbline: L3VNI green: DependencyFailed: spec.vrf: ${sentence}\n` });
  const { kind, items } = JSON.parse(stdout) as {
    kind: string;
    items: { index: number; frr: string; failures: unknown[]; links: { name: string }[] }[];
  };
  expect(kind).toBe("RouterRendering");
  expect(items).toMatchObject([{ node: "n1", index: 4, failures: [{ kind: "L3VNI", name: "green", message: sentence }] }]);
  expect(items[0]?.frr).not.toContain("green");
  expect(items[0]?.links.map(({ name }) => name)).toContain("vni200");
});

test("another node is not selected, and a missing bridge or interface is reported", async () => {
  const other = await plumbline(["render", "router", "-f", good, "--node", "n2"]);
  expect(other.stderr).toBe("plumbline: L3VNI red: DependencyFailed: spec.vrf: No healthy L2VNI exists for VRF 'red'\n");
  const without = await plumbline(["render", "router", "-f", good, "--node", "n1", "--interfaces", "eth0"]);
  expect(without).toMatchObject({
    code: 1,
    stderr: "plumbline: Underlay fabric: ValidationFailed: spec.nics[0]: Interface eth1 not present on node\n",
  });
});

test("tree draws the resources of the manifests on each node", async () => {
  expect(await plumbline(["tree", "-f", broken])).toEqual({
    code: 1,
    stdout: `n1
└─ Underlay fabric (EVPN)
   ├─ L2VNI red (VRF: red)
   │  └─ L3VNI red (VRF: red)
   └─ L3VNI green (VRF: green) [!! ERROR] DependencyFailed: No healthy L2VNI exists for VRF 'green'
`,
    stderr: "",
  });
});

test("lint reports the same failures as the node", async () => {
  expect(await plumbline(["lint", "-f", broken, "--node", "n1", "--interfaces", "eth1"])).toMatchObject({
    code: 1,
    stdout: `${broken}:33: L3VNI openperouter-system/green: spec.vrf: No healthy L2VNI exists for VRF 'green'\n6 objects, 1 failure, 1 warning\n`,
  });
});

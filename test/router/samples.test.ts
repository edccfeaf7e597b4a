import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { plumbline } from "../support/command-line.ts";

// Manifests in every shape that OpenPERouter's own samples have, in the fields of its three versions.

const SAMPLES = join(import.meta.dirname, "samples");
const { signal } = new AbortController();
let api: SuiteApiServer;
let client: KubeClient;

beforeAll(async () => {
  api = await apiServer("samples");
  client = new KubeClient(api.access);
  await installCrds(client, CUSTOM_KINDS, signal);
});
afterAll(async () => {
  client.close();
  await api.stop();
});

type Manifest = KubeObject & { spec: object };

const objectsIn = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as Manifest);
/** What a command says about manifests, without their file and line. */
const remarks = (stderr: string) => stderr.split("\n").flatMap((line) => /^.*?:\d+: (.*)$/.exec(line)?.[1] ?? []);

/** Creates the objects in a namespace of their own; each with the spec that is stored. */
async function created(namespace: string, objects: readonly Manifest[]): Promise<[given: object, stored: unknown][]> {
  await client.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
  return Promise.all(
    objects.map(async (object): Promise<[object, unknown]> => {
      const kind = CUSTOM_KINDS.find((one) => one.kind === object.kind) as unknown as Kind<Manifest>;
      const stored = await client.resource(kind).create({ ...object, metadata: { ...object.metadata, namespace } }, { signal });
      return [object.spec, stored.spec];
    }),
  );
}

const UNCLEAR =
  "Read as v0.1, in a VRF of its own name, although other objects are of v0.2: set vrf, or annotation plumbline.dev/api: v0.2 for an L2VNI in no VRF";
const underlay = "Underlay openperouter-system/underlay: ";

describe.each<[string, { lint?: string[]; main?: string[] }]>([
  [
    "v0.1/tenants",
    {
      main: [
        `${underlay}spec.neighbors[0].bfd.echoMode: main has no such setting`,
        "L2VNI openperouter-system/ovs: spec.vrf: main refers to the L3VNI of VRF ovs, and none is among these objects",
      ],
    },
  ],
  [
    "v0.1/vtep-interface",
    {
      main: ["rack-a", "rack-b"].map(
        (name) =>
          `Underlay openperouter-system/${name}: spec.evpn.vtepInterface: v0.2 has no such setting: give a prefix in tunnelEndpoint.cidrs`,
      ),
    },
  ],
  ["v0.2/tenants", {}],
  [
    "v0.2/unnumbered",
    {
      lint: [UNCLEAR],
      main: [
        "L2VNI openperouter-system/bridged-only: spec.vrf: main refers to the L3VNI of VRF bridged-only, and none is among these objects",
        `L2VNI openperouter-system/bridged-only: spec.vrf: ${UNCLEAR}`,
      ],
    },
  ],
  [
    "v0.2/srv6",
    {
      lint: [
        `${underlay}spec.tunnelEndpoint.cidrs[0]: IPv6 tunnel endpoints are not supported by this version`,
        `${underlay}spec.tunnelEndpoint.cidrs[0]: VTEP prefix 2001:db8::/64 is not IPv4`,
        `${underlay}spec.isis: spec.isis is not supported by this version`,
        `${underlay}spec.srv6: spec.srv6 is not supported by this version`,
        `${underlay}spec.neighbors[0].addressFamilies[0].type: Address family ipv4vpn is not supported by this version`,
        `${underlay}spec.neighbors[0].addressFamilies[1].type: Address family ipv6vpn is not supported by this version`,
      ],
    },
  ],
])("%s", (name, { lint = [], main = [] }) => {
  const file = join(SAMPLES, `${name}.yaml`);

  test("lint accepts it, or names the reason", async () => {
    const { stdout, stderr } = await plumbline(["lint", "-f", file]);
    expect([...remarks(stdout), ...remarks(stderr)]).toEqual(lint);
  });

  test("a real API server stores every field of it", async () => {
    const objects = objectsIn(await readFile(file, "utf8"));
    for (const [given, stored] of await created(name.replace(/\W/g, "-"), objects)) expect(stored).toMatchObject(given);
  });

  test("it is converted to main, or the losses are listed", async () => {
    const { stderr } = await plumbline(["migrate", "convert", "-f", file, "--to", "main"]);
    expect(remarks(stderr)).toEqual(main);
  });
});

test("manifests of main become manifests of v0.2 that a real API server stores and lint accepts", async () => {
  const { code, stdout } = await plumbline(["migrate", "convert", "-f", join(SAMPLES, "main/tenants.yaml"), "--to", "v0.2"]);
  expect(code).toBe(0);
  expect(await plumbline(["lint", "-f", "-"], {}, stdout)).toMatchObject({ code: 0, stderr: "" });
  for (const [given, stored] of await created("main-tenants", objectsIn(stdout))) expect(stored).toMatchObject(given);
});

test("what only main has is listed by object and field", async () => {
  const { code, stderr } = await plumbline(["migrate", "convert", "-f", join(SAMPLES, "main/reflector.yaml"), "--to", "v0.2"]);
  const reflector = "Underlay openperouter-system/reflector: spec";
  expect([code, remarks(stderr)]).toEqual([
    1,
    [
      `${reflector}.routeReflector: v0.2 has no such setting`,
      `${reflector}.interfaces[0]: v0.2 has no devices of CNI plugins`,
      `${reflector}.neighbors[0].listenRange: v0.2 has no such setting`,
      `${reflector}.neighbors[0].addressFamilies[0].properties: v0.2 has no such setting`,
      `${reflector}.neighbors[0]: Not valid in v0.2: Invalid value: exactly one of address and interface must be set`,
    ],
  ]);
});

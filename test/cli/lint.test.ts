import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plumbline } from "../support/command-line.ts";

const pool = (addresses: string) => `apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata:
  name: edge
  namespace: metallb-system
spec:
  addresses: ${addresses}
`;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-lint-"));
  await writeFile(join(directory, "good.yaml"), pool("[192.0.2.0/24]"));
  await writeFile(join(directory, "bad.yaml"), pool("192.0.2.0/24").replace("edge", "other").replace("spec:", "spec:\n  autoAsign: true"));
});
afterAll(() => rm(directory, { recursive: true }));

test("valid manifests pass", async () => {
  expect(await plumbline(["lint", "-f", join(directory, "good.yaml")])).toEqual({
    code: 0,
    stdout: "1 object, no problems\n",
    stderr: "",
  });
});

test("every problem is reported with its line, and the exit code is 1", async () => {
  const bad = join(directory, "bad.yaml");
  expect(await plumbline(["lint", "-f", directory])).toEqual({
    code: 1,
    stdout: [
      `${bad}:7: IPAddressPool metallb-system/other: spec.autoAsign: unknown field of IPAddressPool (Did you mean autoAssign?)`,
      `${bad}:8: IPAddressPool metallb-system/other: spec.addresses: Invalid value: "string": spec.addresses in body must be of type array: "string"`,
      "2 objects, 2 failures",
      "",
    ].join("\n"),
    stderr: "",
  });
});

test("json has a failure item for each problem, with class and position", async () => {
  const { code, stdout } = await plumbline(
    ["lint", "-f", "-", "-o", "json"],
    {},
    pool("[192.0.2.0/24]").replace("IPAddressPool", "IPAdressPool"),
  );
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    apiVersion: "plumbline.dev/cli/v1",
    kind: "Failure",
    items: [
      {
        kind: "IPAdressPool",
        name: "edge",
        namespace: "metallb-system",
        reason: "UnknownKind",
        field: "kind",
        message: "unknown kind IPAdressPool (Did you mean IPAddressPool?)",
        class: "Permanent",
        file: "standard input",
        line: 2,
      },
    ],
  });
});

const peer = `apiVersion: metallb.io/v1beta2
kind: BGPPeer
metadata: { name: peer1, namespace: metallb-system }
spec:
  myASN: 64512
  peerASN: 64512
  peerAddress: 172.30.0.3
  bfdProfile: my-bfd-profile
`;

test.each([
  [[], 0],
  [["--strict"], 1],
])("a reference to an object that is not given is a warning; with the options %j the exit code is %i", async (options, code) => {
  expect(await plumbline(["lint", "-f", "-", ...options], {}, peer)).toEqual({
    code,
    stdout: "1 object, 1 warning\n",
    stderr: "Warning: standard input:8: BGPPeer peer1 refers to BFDProfile my-bfd-profile, which is not in the given files\n",
  });
});

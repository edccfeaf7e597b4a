import * as fc from "fast-check";
import { expect, test } from "vitest";
import { masked, type Content } from "./mask.ts";

const text = (...lines: string[]) => masked([{ text: lines.join("\n") }]).map((content) => ("text" in content ? content.text : ""))[0];
const value = (json: unknown) => masked([{ json }]).map((content) => ("json" in content ? content.json : undefined))[0];

test("passwords in FRR's configuration are masked, and the rest of the line stays", () => {
  expect(
    text(
      "router bgp 64512",
      " neighbor 192.0.2.1 remote-as 64513",
      " neighbor 192.0.2.1 password hunter2",
      " neighbor uplink password 8 hunter2",
      "password zebra",
      "enable password 8 Xyz",
      "interface eth1",
      " ip ospf message-digest-key 1 md5 abc",
      " isis password clear abc",
      "key chain k",
      " key 1",
      "  key-string two words",
      "snmp-server community private RO",
      "ip msdp peer 192.0.2.9 password abc",
      "ip nhrp authentication abc",
    ),
  ).toBe(
    [
      "router bgp 64512",
      " neighbor 192.0.2.1 remote-as 64513",
      " neighbor 192.0.2.1 password <masked>",
      " neighbor uplink password 8 <masked>",
      "password <masked>",
      "enable password 8 <masked>",
      "interface eth1",
      " ip ospf message-digest-key 1 md5 <masked>",
      " isis password clear <masked>",
      "key chain k",
      " key 1",
      "  key-string <masked>",
      "snmp-server community <masked> RO",
      "ip msdp peer 192.0.2.9 password <masked>",
      "ip nhrp authentication <masked>",
    ].join("\n"),
  );
});

test("secret fields are masked, references to Secrets and others are not", () => {
  const peer = {
    metadata: { name: "tor", annotations: { "example.com/api-token": "abcd1234" } },
    spec: { myASN: 64500, password: "hunter2", passwordSecret: { name: "tor-password", namespace: "metallb-system" } },
    status: { token: { epoch: 3, state: "Held" } },
  };
  expect(value(peer)).toEqual({
    metadata: { name: "tor", annotations: { "example.com/api-token": "<masked>" } },
    spec: { myASN: 64500, password: "<masked>", passwordSecret: { name: "tor-password", namespace: "metallb-system" } },
    status: { token: { epoch: 3, state: "Held" } },
  });
  expect(value({ spec: { passwordSecret: "tor-password", matchExpressions: [{ key: "app", operator: "Exists" }] } })).toEqual({
    spec: { passwordSecret: "tor-password", matchExpressions: [{ key: "app", operator: "Exists" }] },
  });
});

test("the last-applied annotation is masked inside", () => {
  const note = JSON.stringify({ spec: { password: 'hun"ter2', peerAddress: "192.0.2.1" } });
  expect(value({ annotations: { "kubectl.kubernetes.io/last-applied-configuration": `${note}\n` } })).toEqual({
    annotations: {
      "kubectl.kubernetes.io/last-applied-configuration": `${JSON.stringify({ spec: { password: "<masked>", peerAddress: "192.0.2.1" } })}\n`,
    },
  });
});

test("an embedded Secret has no values", () => {
  const data = { password: Buffer.from("hunter2").toString("base64"), other: "eA==" };
  expect(masked([{ json: { kind: "Secret", metadata: { name: "s" }, data } }, { text: "it was hunter2." }])).toEqual([
    { json: { kind: "Secret", metadata: { name: "s" }, data: { password: "<masked>", other: "<masked>" } } },
    { text: "it was <masked>." },
  ]);
});

const note = (containers: unknown) => ({ "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ spec: { containers } }) });

test("environment variables of containers are masked, also in the last-applied annotation", () => {
  const env = [
    { name: "DSN", value: "postgres" },
    { name: "FROM", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
  ];
  const hidden = [{ name: "DSN", value: "<masked>" }, env[1]];
  expect(value({ spec: { containers: [{ name: "db", env }] } })).toEqual({ spec: { containers: [{ name: "db", env: hidden }] } });
  expect(value({ annotations: note([{ env }]) })).toEqual({ annotations: note([{ env: hidden }]) });
  expect(
    value([
      { name: "api-token", value: "abc" },
      { name: "size", value: "3" },
    ]),
  ).toEqual([
    { name: "api-token", value: "<masked>" },
    { name: "size", value: "3" },
  ]);
});

test("the argument after a secret flag is masked too", () => {
  const args = ["agent", "--token", "K10abc::server", "--node", "n1", "--password", "--verbose"];
  const hidden = ["agent", "--token", "<masked>", "--node", "n1", "--password", "--verbose"];
  expect(value({ containers: [{ args }] })).toEqual({ containers: [{ args: hidden }] });
  expect(value({ annotations: { "k3s.io/node-args": JSON.stringify(args) } })).toEqual({
    annotations: { "k3s.io/node-args": JSON.stringify(hidden) },
  });
});

test("a kubeconfig keeps its servers and loses its credentials", () => {
  expect(
    text(
      "    server: https://10.0.0.1:6443",
      "    client-key-data: LS0tLS1CRUdJTg==",
      "    token: abc.def",
      "    password: 'x y'",
      "-----BEGIN EC PRIVATE KEY-----",
      "MHcCAQ",
      "-----END EC PRIVATE KEY-----",
    ),
  ).toBe(
    [
      "    server: https://10.0.0.1:6443",
      "    client-key-data: <masked>",
      "    token: <masked>",
      "    password: '<masked>'",
      "-----BEGIN EC PRIVATE KEY-----<masked>-----END EC PRIVATE KEY-----",
    ].join("\n"),
  );
});

test("a message about a password keeps its text without the value", () => {
  expect(text("spec.password: has a character other than printable ASCII")).toBe(
    "spec.password: has a character other than printable ASCII",
  );
  expect(text("The password of BGPPeer tor is wrong; Secret metallb-system/pw not found")).toBe(
    "The password of BGPPeer tor is wrong; Secret metallb-system/pw not found",
  );
  expect(text('spec.neighbors[0].password: Invalid value: "hunter 2": should match')).toBe(
    'spec.neighbors[0].password: Invalid value: "<masked>": should match',
  );
  expect(text("agent --token abc --node n1, https://me:hunter2@host/x, Authorization: Bearer abcdefgh12")).toBe(
    "agent --token <masked> --node n1, https://me:<masked>@host/x, Authorization: <masked> <masked>",
  );
});

test("a long text without word breaks is masked in linear time", () => {
  const long = "a1".repeat(1 << 17);
  expect(text(long)).toBe(long);
  expect(text(`--${long}`)).toBe(`--${long}`);
  expect(text(`x[${long}`)).toBe(`x[${long}`);
});

test("names that contain a password stay", () => {
  expect(
    masked([
      {
        json: {
          metadata: { name: "metallb", namespace: "metallb-system" },
          spec: { password: "metallb" },
          message: "metallb, in metallb-system",
        },
      },
    ]),
  ).toEqual([
    {
      json: {
        metadata: { name: "metallb", namespace: "metallb-system" },
        spec: { password: "<masked>" },
        message: "<masked>, in metallb-system",
      },
    },
  ]);
});

const secret = fc.stringMatching(/^[\x21-\x7e]{6,40}$/).map((made) => `q7${made}Q`);
const planted = (password: string, key: string, raw: string): Content[] => [
  {
    json: {
      items: [
        {
          kind: "BGPPeer",
          metadata: {
            name: "tor",
            annotations: { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ spec: { password } }) },
          },
        },
        {
          kind: "BGPPeer",
          metadata: { name: "tor" },
          spec: { password },
          status: { lastError: `FRR refused: neighbor 192.0.2.1 password ${password}: too long` },
        },
        { kind: "RawFRRConfig", spec: { rawConfig: `router bgp 1\n neighbor 192.0.2.1 password ${raw}\nend\n` } },
        { kind: "Event", message: `It says ${password}, ${raw} and ${key}` },
        { kind: "Deployment", spec: { containers: [{ env: [{ name: "X", value: key }], args: [`--x=${raw}`] }] } },
        { kind: "ConfigMap", data: { kubeconfig: `token: ${key}`, other: JSON.stringify({ deep: { apiKey: key } }) } },
      ],
    },
  },
  { text: `frr\n neighbor 192.0.2.1 password ${raw}\n neighbor 192.0.2.2 password ${password}\n` },
  { text: `cause: ${encodeURIComponent(password)} ${Buffer.from(raw).toString("base64")} ${JSON.stringify(key)}` },
];

test("no planted secret survives in any form", () => {
  fc.assert(
    fc.property(secret, secret, secret, (password, key, raw) => {
      const bundle = JSON.stringify(masked(planted(password, key, raw)));
      for (const one of [password, key, raw]) {
        const encodings = [one, JSON.stringify(one).slice(1, -1), encodeURIComponent(one), Buffer.from(one).toString("base64")];
        const twice = JSON.stringify(JSON.stringify(one).slice(1, -1)).slice(1, -1);
        for (const encoding of [...encodings, twice]) expect(bundle).not.toContain(encoding);
      }
      expect(bundle).toContain('"name":"tor"');
    }),
    { seed: 9, numRuns: 150 },
  );
});

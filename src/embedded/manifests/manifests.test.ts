import { describe, expect, test } from "vitest";
import { readManifests, type Document } from "./manifests.ts";
import { positionOf } from "./position.ts";

const read = (text: string | Buffer, before?: readonly Document[]) =>
  readManifests(Buffer.from(text), { json: false, ...(before && { before }) });
const readJson = (text: string) => readManifests(Buffer.from(text), { json: true });

/** `2 ConfigMap a`, with the line that each object starts in. */
function objectsOf(passages: readonly Document[]): string[] {
  return passages.flatMap(({ line, manifests }) =>
    manifests.map(({ object, positions }) => `${line + positionOf(object, positions, "").line + 1} ${object.kind} ${object.metadata.name}`),
  );
}

function parseErrorsOf(passages: readonly Document[]): string[] {
  return passages.flatMap(({ line, flaws }) =>
    flaws.map((parseError) => `${line + parseError.line + 1}:${parseError.column + 1} ${parseError.message}`),
  );
}

const configMap = (name: string, text = "x") => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  text: ${text}\n`;
const documents = (...names: string[]) => names.map((name) => configMap(name)).join("---\n");
const list = (...items: string[]) =>
  `apiVersion: v1\nkind: List\nitems:\n${items.map((text) => `- ${text.replaceAll("\n", "\n  ").trim()}\n`).join("")}`;
const manifestOf = (passages: readonly Document[], name: string) =>
  passages.flatMap(({ manifests }) => manifests).find(({ object }) => object.metadata.name === name);
const json = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

describe("objects", () => {
  test("of several documents, each with its line", () => {
    const passages = read(`# all\n---\n${configMap("a")}---\n# nothing here\n---\n${configMap("b")}---\n`);
    expect(objectsOf(passages)).toEqual(["3 ConfigMap a", "12 ConfigMap b"]);
    expect(parseErrorsOf(passages)).toEqual([]);
  });

  test("of a List, in every allowed form", () => {
    const block = `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: b\n`;
    expect(objectsOf(read(block))).toEqual(["4 ConfigMap a", "7 Secret b"]);
    expect(objectsOf(read(block.replace("List", "List # of two").replace("items", "spec: {}\nitems")))).toEqual([
      "5 ConfigMap a",
      "8 Secret b",
    ]);
    const list = { apiVersion: "v1", kind: "List", items: [json("a"), { apiVersion: "v1", kind: "List", items: [json("b")] }] };
    expect(objectsOf(readJson(JSON.stringify(list, null, 2)))).toEqual(["5 ConfigMap a", "16 ConfigMap b"]);
    expect(objectsOf(read(JSON.stringify(list)))).toEqual(["1 ConfigMap a", "1 ConfigMap b"]);
  });

  test("of a list of one kind, which need not repeat it", () => {
    const text =
      "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata:\n    name: a\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: b\n";
    expect(objectsOf(read(text))).toEqual(["4 ConfigMap a", "6 Secret b"]);
    expect(read(text)[0]?.manifests[0]?.object).toEqual({ metadata: { name: "a" }, apiVersion: "v1", kind: "ConfigMap" });
    expect(objectsOf(readJson(JSON.stringify({ apiVersion: "v1", kind: "ConfigMapList", items: [{ metadata: { name: "a" } }] })))).toEqual([
      "1 ConfigMap a",
    ]);
  });

  test("of a file that starts with a byte order mark and has Windows line ends", () => {
    expect(objectsOf(read(`\ufeff${configMap("a")}---\n${configMap("b")}`.replaceAll("\n", "\r\n")))).toEqual([
      "1 ConfigMap a",
      "8 ConfigMap b",
    ]);
  });

  test.each(["", "\n", "# a comment\n", "---\n---\n", "apiVersion: v1\nkind: List\nitems: []\n"])("none in %j", (text) => {
    expect(objectsOf(read(text))).toEqual([]);
    expect(parseErrorsOf(read(text))).toEqual([]);
  });
});

describe("an invalid document affects only itself", () => {
  test("and is reported with its line in the file", () => {
    const passages = read(`${configMap("a")}---\na: b: c\n---\n${configMap("b")}---\nkind: ConfigMap\n`);
    expect(objectsOf(passages)).toEqual(["1 ConfigMap a", "10 ConfigMap b"]);
    expect(parseErrorsOf(passages)).toEqual([
      '8:4 a field cannot start here; quote text that contains ": ", or check the indentation',
      "17:1 apiVersion is missing",
    ]);
  });

  test("also in a List", () => {
    const passages = read(list(configMap("a"), "a: [", configMap("b")));
    expect(objectsOf(passages)).toEqual(["4 ConfigMap a", "11 ConfigMap b"]);
    expect(parseErrorsOf(passages)[0]).toMatch(/^11:1 Flow sequence/);
  });

  test.each([
    ["just text", "1:1 not a manifest: apiVersion, kind and metadata are required"],
    ["- a\n- b\n", "1:1 not a manifest: apiVersion, kind and metadata are required"],
    ["apiVersion: v1\nmetadata:\n  name: a\n", "1:1 kind is missing"],
    ["kind: [a]\napiVersion: v1\n", "1:1 kind must be text"],
    ["apiVersion: 1\nkind: A\n", "1:1 apiVersion must be text"],
    ["apiVersion: v1\nkind: A\n", "1:1 metadata.name is missing"],
    ["apiVersion: v1\nkind: A\nmetadata:\n", "3:1 metadata.name is missing"],
    ["apiVersion: v1\nkind: A\nmetadata: []\n", "3:1 metadata must be a map"],
    ["apiVersion: v1\nkind: A\nmetadata:\n  labels: {}\n  name: 12\n", "5:3 metadata.name must be text; put it in quotes"],
    ["apiVersion: v1\nkind: A\nmetadata:\n  name: yes\n", "4:3 metadata.name must be text; put it in quotes"],
    ["apiVersion: v1\nkind: A\nmetadata:\n  name: ''\n", "4:3 metadata.name must be text"],
    ["apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  namespace: 1\n", "5:3 metadata.namespace must be text; put it in quotes"],
    ["apiVersion: v1\nkind: A\nmetadata:\n  generateName: a-\n", "4:3 metadata.name is missing; generateName is not allowed in a file"],
  ])("%j", (text, parseError) => {
    expect(parseErrorsOf(read(text))).toEqual([parseError]);
  });

  test("text in another encoding, or truncated by a crash", () => {
    const bad = Buffer.concat([Buffer.from(`${configMap("a")}---\n# gr`), Buffer.from([0xfc]), Buffer.from(`n\n${configMap("b")}`)]);
    expect(objectsOf(read(bad))).toEqual(["1 ConfigMap a"]);
    expect(parseErrorsOf(read(bad))).toEqual(["8:1 not UTF-8 text; save the file as UTF-8"]);
    expect(parseErrorsOf(read(Buffer.from(configMap("a"), "utf16le")))).toEqual(["1:1 control characters are not allowed"]);
    expect(parseErrorsOf(read(`${configMap("a")}\0\0\0\0`))).toEqual(["7:1 control characters are not allowed"]);
  });

  test("an object over 1.5 MB, while a List may be larger", () => {
    const large = configMap("large", `"${"x".repeat(1_600_000)}"`);
    expect(parseErrorsOf(read(`${configMap("a")}---\n${large}`))).toEqual([
      `7:1 an object of ${large.length + 4} bytes is too large; an API server stores at most 1572864`,
    ]);
    const half = { ...json("half"), data: { text: "x".repeat(1_000_000) } };
    const whole = { ...json("whole"), data: { text: "x".repeat(1_600_000) } };
    const passages = readJson(JSON.stringify({ apiVersion: "v1", kind: "List", items: [half, whole, half] }, null, 1));
    expect(objectsOf(passages)).toEqual(["5 ConfigMap half", "25 ConfigMap half"]);
    expect(parseErrorsOf(passages)).toEqual([
      `15:3 an object of ${JSON.stringify(whole).length} bytes is too large; an API server stores at most 1572864`,
    ]);
  });
});

describe("an unchanged document is not parsed again", () => {
  test("when a document beside it changes, and lines are added above it", () => {
    const before = read(documents("a", "b", "c"));
    const after = read(`# new\n---\n${documents("new", "a", "b", "c")}`.replace("name: b", "name: other"), before);
    expect(objectsOf(after)).toEqual(["3 ConfigMap new", "10 ConfigMap a", "17 ConfigMap other", "24 ConfigMap c"]);
    expect(manifestOf(after, "c")).toBe(manifestOf(before, "c"));
    expect(manifestOf(after, "other")).not.toBe(manifestOf(before, "b"));
  });

  test("when another item of the List changes", () => {
    const before = read(list(configMap("a"), configMap("b")));
    const after = read(list(configMap("new"), configMap("a"), configMap("b")), before);
    expect(objectsOf(after)).toEqual(["4 ConfigMap new", "10 ConfigMap a", "16 ConfigMap b"]);
    expect(manifestOf(after, "b")).toBe(manifestOf(before, "b"));
  });

  test("but an item that gets its kind from the list is, when that changes", () => {
    const text = "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata:\n    name: a\n";
    expect(objectsOf(read(text.replace("ConfigMap", "Secret"), read(text)))).toEqual(["4 Secret a"]);
  });
});

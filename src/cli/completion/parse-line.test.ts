import { expect, test } from "vitest";
import { program } from "../program.ts";
import { type CompletionContext, parseCommandLine } from "./parse-line.ts";

const whole = await program(() => true);

function textsAt(...args: string[]): string[] {
  const { context } = parseCommandLine(whole, args);
  return context.is === "one of" ? context.candidates.map(({ text }) => text) : [];
}

test("the first word is a command, without the developers' commands", () => {
  expect(textsAt("")).toEqual(expect.arrayContaining(["get", "describe", "apply", "delete", "lint", "lab", "version"]));
  expect(textsAt("")).not.toContain("bench");
  expect(textsAt("lab", "kube", "")).toEqual(expect.arrayContaining(["up", "down", "status"]));
});

test("a dash starts an option of the command", () => {
  expect(textsAt("get", "-")).toEqual(expect.arrayContaining(["--namespace", "--all-namespaces", "--output", "--help"]));
  expect(textsAt("apply", "-f", "a.yaml", "-")).toContain("--reset");
});

test.for<[string[], CompletionContext]>([
  [["get", ""], { is: "kind" }],
  [["get", "-A", ""], { is: "kind" }],
  [["get", "-n", "x", ""], { is: "kind" }],
  [["get", "-n", ""], { is: "namespace" }],
  [["get", "--namespace", ""], { is: "namespace" }],
  [["get", "l3vni", ""], { is: "name", kind: "l3vni", taken: [] }],
  [["get", "l3vni", "-n", "x", "red", "bl"], { is: "name", kind: "l3vni", taken: ["red"] }],
  [["failover", "plan", "-n", "x", ""], { is: "name", kind: "failoverpolicies", taken: [] }],
  [["failover", "history", "web", ""], { is: "other" }],
  [["crds", "l3vni", ""], { is: "kind" }],
  [["apply", "-f", ""], { is: "other" }],
  [["apply", "-f", "a.yaml", ""], { is: "other" }],
  [["delete", "-f", "a.yaml", ""], { is: "other" }],
  [["get", "--dir", ""], { is: "other" }],
  [["version", ""], { is: "other" }],
  [["nonsense", "more", ""], { is: "one of", candidates: expect.any(Array) as never }],
])("at the end of %j is %j", ([args, context]) => {
  expect(parseCommandLine(whole, args).context).toEqual(context);
});

test("choices are completed", () => {
  expect(textsAt("get", "-o", "")).toEqual(["table", "wide", "yaml", "json", "name"]);
  expect(textsAt("failover", "switch", "web", "--to", "")).toEqual(["primary", "secondary"]);
  expect(textsAt("completion", "")).toEqual(["bash", "zsh", "fish"]);
});

test("the faults of the lab and their targets are completed with descriptions", () => {
  expect(textsAt("lab", "break", "")).toEqual(expect.arrayContaining(["link-down", "peer-unreachable", "volume-refuses"]));
  expect(textsAt("lab", "fix", "peer-unreachable", "--site", "")).toEqual(["east", "west"]);
  expect(textsAt("lab", "break", "link-down", "--node", "")).toEqual(["node1", "node2", "node3"]);
  expect(textsAt("lab", "link", "")).toEqual(expect.arrayContaining(["node1-tor", "client2-lan"]));
  expect(textsAt("lab", "up", "--tors", "")).toEqual(["1", "2"]);
  const { context } = parseCommandLine(whole, ["lab", "break", ""]);
  expect(context.is === "one of" && context.candidates).toContainEqual({
    text: "peer-unreachable",
    about: "the site can no longer reach its peer",
  });
});

test("options that are already given are not offered", () => {
  expect(parseCommandLine(whole, ["get", "--dir=x", "-n", "shop", "-A", "l3vni", ""]).options).toEqual({
    dir: "x",
    namespace: "shop",
    allNamespaces: "true",
  });
});

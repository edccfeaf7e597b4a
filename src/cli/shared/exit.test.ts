import { afterEach, expect, test, vi } from "vitest";
import { CliError, EXIT, exitCodeFor, failWith } from "./exit.ts";

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

test.for([
  new CliError("There is no \u001b[2J\nin default", EXIT.unknown),
  Object.assign(new Error("There is no \u001b[2J\nin default"), { code: "ENOENT" }),
])("control characters in an error are not printed", (error) => {
  const lines: string[] = [];
  expect(exitCodeFor(error, (line) => lines.push(line))).toBe(EXIT.unknown);
  expect(lines).toEqual(["plumbline: There is no ^[[2J\nin default"]);
});

test("control characters in a stack are not printed", () => {
  const lines: string[] = [];
  exitCodeFor(new TypeError("\u001b[2J"), (line) => lines.push(line));
  expect(lines.join("")).not.toContain("\u001b");
});

test("control characters in a failure are not printed", () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  failWith("ConfigMap \u001b[2J", EXIT.no);
  expect(write.mock.calls).toEqual([["plumbline: ConfigMap ^[[2J\n"]]);
});

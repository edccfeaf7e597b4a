import { expect, onTestFinished, test, vi } from "vitest";
import { print, printable, printError } from "./printable.ts";

test.for([
  ["plain text, ünïcödé → 日本", "plain text, ünïcödé → 日本"],
  ["two\nlines", "two\nlines"],
  ["\u001b[2Jcleared\u0007", "^[[2Jcleared?"],
  ["\u001b]0;title\u001b\\", "^[]0;title^[\\"],
  ["one byte for an escape and a bracket: \u009b31m", "one byte for an escape and a bracket: ?31m"],
  ["over\rwritten\bby\u007fthis", "over?written?by?this"],
])("%j is printed as %j", ([text, printed]) => {
  expect(printable(text ?? "")).toBe(printed);
});

test("printed text keeps our color codes and no other control characters", () => {
  const written: string[] = [];
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation((text) => {
      written.push(String(text));
      return true;
    }),
  );
  onTestFinished(() => spies.forEach((spy) => spy.mockRestore()));
  for (const show of [print, printError]) show("\u001b[31mred\u001b[39m \u001b[8mhidden\u001b[2J\u001b[1mbold\u001b[22m\n\u009b31m");
  expect(written).toEqual(Array(2).fill("\u001b[31mred\u001b[39m ^[[8mhidden^[[2J\u001b[1mbold\u001b[22m\n?31m"));
});

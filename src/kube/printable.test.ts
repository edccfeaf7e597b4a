import { expect, test } from "vitest";
import { printable } from "./printable.ts";

test.for([
  ["plain text, ünïcödé → 日本", "plain text, ünïcödé → 日本"],
  ["two\nlines", "two\nlines"],
  ["\u001b[2Jcleared\u0007", "^[[2Jcleared?"],
  ["\u001b]0;title\u001b\\", "^[]0;title^[\\"],
  ["one byte for an escape and a bracket: \u009b31m", "one byte for an escape and a bracket: ?31m"],
  ["over\rwritten\bby\u007fthis", "over?written?by?this"],
])("%j is printed as %j", ([text, shown]) => {
  expect(printable(text ?? "")).toBe(shown);
});

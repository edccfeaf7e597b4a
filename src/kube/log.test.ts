import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { createLog } from "./log.ts";

function logged(pretty: boolean, log: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = [];
  log(createLog({ pretty, write: (line) => lines.push(line) }));
  return lines;
}

const json = (log: (log: ReturnType<typeof createLog>) => void) =>
  logged(false, log).map((line) => JSON.parse(line) as Record<string, unknown>);

test("a line is JSON with level, time, message and its fields", () => {
  expect(json((log) => log.child({ controller: "lamp" }).info({ key: "hall/a" }, "lit"))).toEqual([
    { level: "info", time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string, controller: "lamp", key: "hall/a", msg: "lit" },
  ]);
});

test("debug lines are off by default", () => {
  expect(json((log) => log.debug("detail"))).toEqual([]);
  const lines: string[] = [];
  createLog({ level: "debug", write: (line) => lines.push(line) }).debug("detail");
  expect(lines).toHaveLength(1);
});

test("an expected error is logged with its code and causes, an unexpected one with its stack", () => {
  const foreseen = Object.assign(new Error("not there"), { code: "NotFound" });
  const [line] = json((log) => log.warn({ error: new TypeError("a bug", { cause: foreseen }) }, "reconcile failed"));
  expect(line?.["error"]).toEqual({
    type: "TypeError",
    message: "a bug",
    stack: expect.stringContaining("log.test.ts") as string,
    cause: { type: "Error", message: "not there", code: "NotFound" },
  });
});

test("a thrown value that is not an Error is logged as it is", () => {
  expect(json((log) => log.warn({ error: "a string" }, "reconcile failed"))).toMatchObject([{ error: "a string" }]);
});

test("on a terminal fields and errors cannot contain control characters or line breaks", () => {
  const error = Object.assign(new Error("nft: \u001b[2J\nall is well"), { code: "Failed", cause: new Error("\u009b2J") });
  const [line = ""] = logged(true, (log) =>
    log.warn({ error, text: "\u001b]0;owned\u0007\n12:00 INFO fine", at: { x: "\u009b" } }, "\u001b[2J"),
  );
  const [first, ...more] = stripVTControlCharacters(line).split("\n");
  for (const sent of ["\u001b[2J", "\u001b]", "\u0007", "\u009b"]) expect(line).not.toContain(sent);
  expect(first).toContain(String.raw`^[[2J text="\u001b]0;owned\u0007\n12:00 INFO fine" at={"x":"?"} Error: nft: ^[[2J`);
  expect(more[0]).toBe("  all is well caused by");
});

test("on a terminal a line has time, level, message, fields and the error at the end", () => {
  const foreseen = Object.assign(new Error("not there"), {
    code: "NotFound",
    cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }),
  });
  const [line] = logged(true, (log) => log.warn({ error: foreseen, key: "hall/a", retryInMs: 10 }, "reconcile failed"));
  expect(stripVTControlCharacters(line ?? "")).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} WARN {2}reconcile failed key=hall\/a retryInMs=10 Error: not there caused by Error: reset\n$/,
  );
});

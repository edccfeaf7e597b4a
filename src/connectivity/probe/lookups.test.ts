import { expect, test } from "vitest";
import { type LookupResult, Lookups } from "./lookups.ts";

test("the latest thousand names with timeouts are kept", async () => {
  let answer = Promise.withResolvers<LookupResult>();
  const lookups = new Lookups(() => answer.promise, 2);
  for (let at = 0; at <= 1000; at++) {
    answer = Promise.withResolvers<LookupResult>();
    const lookup = lookups.ask(`late-${at}`);
    lookup.cancel();
    answer.resolve({ code: "EAI_AGAIN", afterMs: 10_000 });
    await lookup.result;
    await Promise.resolve();
  }
  answer = Promise.withResolvers<LookupResult>();
  lookups.ask("another");
  // A name that was late leaves the second thread to others.
  expect(lookups.ask("late-1").began()).toBe(false);
  expect(lookups.ask("late-0").began()).toBe(true);
});

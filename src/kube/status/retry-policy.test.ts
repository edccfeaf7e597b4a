import { afterEach, expect, test, vi } from "vitest";
import { KubeError, type KubeErrorCode } from "../client/error.ts";
import { retryPolicy } from "./retry-policy.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const total = ({ pauses }: ReturnType<typeof retryPolicy>) => pauses.reduce((sum, { ms }) => sum + ms, 0);
const after = (code: KubeErrorCode, failures: number) => total(retryPolicy(new KubeError(code, "no"), failures));

test.each<KubeErrorCode>(["Conflict", "AlreadyExists", "NotFound"])(
  "%s: the object is read, and five times the next try is at once",
  (code) => {
    expect(retryPolicy(new KubeError(code, "no"), 1)).toMatchObject({ code, reread: true, severity: "contended" });
    expect([1, 5].map((failures) => after(code, failures))).toEqual([0, 0]);
    expect(after(code, 6)).toBeGreaterThan(0);
  },
);

test.each<KubeErrorCode>(["Unreachable", "Timeout", "ServerError", "TooManyRequests", "Unauthorized", "Certificate", "Malformed"])(
  "%s: tried again soon, then ever more rarely, up to half a minute",
  (code) => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    expect(retryPolicy(new KubeError(code, "no"), 1)).toMatchObject({
      code,
      severity: "passing",
      pauses: [{ ms: 200, waker: "connection" }],
    });
    expect([2, 3, 20].map((failures) => after(code, failures))).toEqual([400, 800, 30_000]);
  },
);

test.each<KubeErrorCode>(["Invalid", "BadRequest", "Forbidden", "MethodNotAllowed", "UnsupportedMediaType"])(
  "%s: another picture is tried soon, the same one in minutes",
  (code) => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    expect(retryPolicy(new KubeError(code, "no"), 1)).toMatchObject({
      severity: "hopeless",
      pauses: [
        { ms: 200, waker: "nothing" },
        { ms: 30_000, waker: "picture" },
      ],
    });
    expect(retryPolicy(new KubeError(code, "no"), 20).pauses.map(({ ms }) => ms)).toEqual([10_000, 300_000]);
  },
);

const reread = (code: KubeErrorCode) => retryPolicy(new KubeError(code, "no"), 1).reread;

test("a request that may have succeeded is read first, a rejected one is not", () => {
  expect((["Unreachable", "Timeout", "ServerError", "Malformed"] as const).map(reread)).toEqual([true, true, true, true]);
  expect((["TooManyRequests", "Unauthorized", "Certificate", "Fenced", "Invalid"] as const).map(reread)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});

test("Retry-After is respected, with jitter", () => {
  vi.spyOn(Math, "random").mockReturnValueOnce(0).mockReturnValueOnce(0).mockReturnValueOnce(1);
  const busy = new KubeError("TooManyRequests", "no", { retryAfterMs: 7000 });
  expect([after("TooManyRequests", 1), total(retryPolicy(busy, 1)), total(retryPolicy(busy, 1))]).toEqual([100, 7100, 7200]);
});

test("an error that is not from the server is handled like a rejection", () => {
  expect(retryPolicy(new TypeError("a picture that throws"), 1)).toMatchObject({ code: "Internal", severity: "hopeless" });
});

import { expect, test } from "vitest";
import { ago, check, NOW } from "../../connectivity/testing/checks.ts";
import { plain } from "../print/color.ts";
import { checkSections } from "./check-sections.ts";
import { sparkline } from "./check-sections.ts";

const colorize = plain;

/** The newer entry first, as in a log. */
const attempt = (minutes: number, ms: number) => [
  { time: ago(minutes), success: true, reason: "ConnectDone", message: "Connection to web:80 established.", latency: `${ms}ms` },
  { time: ago(minutes), success: true, reason: "DNSDone", message: "web resolved to 10.0.0.1", latency: "3ms" },
];

test("a check of a name has both latencies, its latest entries and its outages", () => {
  const status = {
    successes: [...attempt(1, 2.845865), ...attempt(3, 12), ...attempt(4, 1)],
    failures: [
      { time: ago(2), success: false, reason: "ConnectError", message: "Failed connect to web:80; Connection refused", latency: "1ms" },
    ],
    outages: [{ start: ago(2), end: ago(1), startedAfter: ago(3), endedAfter: ago(2), message: "Connectivity restored after 1m0s" }],
  };
  expect(
    checkSections(check("a", "web:80", status), { paint: colorize, now: NOW })?.map((lines) =>
      lines.map((line) => line.replaceAll(/(?<=\S) {3,}/g, " | ")),
    ),
  ).toEqual([
    [
      "Latency:",
      "  connect | ▁█x▂ | min 1ms, median 2.85ms, max 12ms of 3 since 2026-11-16T11:56:00Z",
      "  lookup | ▁▁▁ | min 3ms, median 3ms, max 3ms of 3 since 2026-11-16T11:56:00Z",
    ],
    [
      "Latest:",
      "  TIME | AGE | RESULT | TOOK | MESSAGE",
      "  2026-11-16T11:59:00Z | 60s | ConnectDone | 2.85ms | Connection to web:80 established.",
      "  2026-11-16T11:59:00Z | 60s | DNSDone | 3ms | web resolved to 10.0.0.1",
      "  2026-11-16T11:58:00Z | 2m | ConnectError | 1ms | Failed connect to web:80; Connection refused",
      "  2026-11-16T11:57:00Z | 3m | ConnectDone | 12ms | Connection to web:80 established.",
      "  2026-11-16T11:57:00Z | 3m | DNSDone | 3ms | web resolved to 10.0.0.1",
      "  2026-11-16T11:56:00Z | 4m | ConnectDone | 1ms | Connection to web:80 established.",
      "  2026-11-16T11:56:00Z | 4m | DNSDone | 3ms | web resolved to 10.0.0.1",
    ],
    [
      "Outages:",
      "  BROKE | RESTORED | LASTED | WHY | MESSAGE",
      "  2026-11-16T11:57:00Z to 11:58:00Z | 2026-11-16T11:58:00Z to 11:59:00Z | 0s to 2m | ConnectError | Connectivity restored after 1m0s",
    ],
  ]);
});

const request = (minutes: number, success: boolean, reason: string, message: string) => ({
  time: ago(minutes),
  success,
  reason,
  message,
  latency: "12ms",
});

test("a check of a URL says what it sends and expects, and has the latency of its requests", () => {
  const annotations = {
    "plumbline.dev/probe":
      '{"type":"HTTPS","path":"/healthz","host":"web.test","expect":{"status":[200,204],"body":"ok"},"tls":{"insecure":true}}',
  };
  const status = {
    successes: [
      request(1, true, "HTTPDone", "HTTP 200 from https://10.0.0.1:443/healthz"),
      request(3, true, "HTTPDone", "HTTP 200 from https://10.0.0.1:443/healthz"),
    ],
    failures: [request(2, false, "UnexpectedStatus", "Unexpected answer of https://10.0.0.1:443/healthz; status 503, expected 200 or 204")],
  };
  const sections = checkSections(check("a", "10.0.0.1:443", status, annotations), { paint: colorize, now: NOW });
  expect(sections?.slice(0, 2)).toEqual([
    [
      "Request:",
      "  GET https://10.0.0.1:443/healthz for host web.test",
      '  expects status 200 or 204, and "ok" in the body',
      "  accepts every certificate",
    ],
    ["Latency:", "  request   ▁x▁   min 12ms, median 12ms, max 12ms of 2 since 2026-11-16T11:57:00Z"],
  ]);
});

test("entries of other checkers get our names, and their duration is the time taken", () => {
  const theirs = {
    time: ago(1),
    success: true,
    reason: "TCPConnect",
    message: "tcp connection to 10.0.0.1:80 succeeded",
    duration: "200ms",
  };
  const [latency, latest] = checkSections(check("a", "10.0.0.1:80", { successes: [theirs] }), { paint: colorize, now: NOW }) ?? [];
  expect(latency?.[1]).toBe("  connect   ▁     min 200ms, median 200ms, max 200ms of 1 since 2026-11-16T11:59:00Z");
  expect(latest?.[2]).toBe("  2026-11-16T11:59:00Z   60s   ConnectDone   200ms   tcp connection to 10.0.0.1:80 succeeded");
});

test("a check without a result has no sections, and other kinds are described as usual", () => {
  expect(checkSections(check("a", "10.0.0.1:80", {}), { paint: colorize, now: NOW })).toEqual([]);
  expect(
    checkSections({ apiVersion: "v1", kind: "PodNetworkConnectivityCheck", metadata: { name: "x" } }, { paint: colorize, now: NOW }),
  ).toBeUndefined();
});

test("a sparkline scales from the lowest to the highest value", () => {
  expect(sparkline([1, 2, 3, 4, 5, 6, 7, 8], "x")).toBe("▁▂▃▄▅▆▇█");
  expect(sparkline([5, undefined, 5], "x")).toBe("▁x▁");
  expect(sparkline([], "x")).toBe("");
});

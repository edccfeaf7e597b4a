/** For tests: what the checks of small meshes say. */

import type { CheckResult, ResultSource, ResultTarget } from "../analysis/check-result.ts";

/** A source by its name: `a/n1` is node n1 of zone a, `a/n1/shop/web-1` a pod on it. */
export function source(text: string): ResultSource {
  const [zone = "", node = "", ...pod] = text.split("/");
  return pod.length > 0 ? { kind: "pod", name: pod.join("/"), node, zone } : { kind: "node", name: node, node, zone };
}

export function target(endpoint: string, what = "host", location = ""): ResultTarget {
  const colon = endpoint.lastIndexOf(":");
  const host = endpoint.slice(0, colon);
  const hostType = host.startsWith("[") ? "IPv6" : /^[0-9.]+$/.test(host) ? "IPv4" : "name";
  const [zone, node] = location.split("/");
  const where = zone === undefined || node === undefined ? {} : { zone, node };
  return { endpoint, host: host.replaceAll(/[[\]]/g, ""), port: endpoint.slice(colon + 1), hostType, what, ...where };
}

const FAILURES: Readonly<Record<string, string>> = {
  "No such name": "DNSError",
  "The name server did not answer in time": "DNSError",
  "status 503, expected 200 to 299": "UnexpectedStatus",
  "the body does not contain the expected text": "BodyMismatch",
};

export function checkResult(
  from: ResultSource,
  to: ResultTarget,
  verdict: CheckResult["verdict"],
  why = "Connection timed out",
): CheckResult {
  const reasons = { reached: "ConnectDone", failed: FAILURES[why] ?? "ConnectError", unknown: why };
  return {
    check: `ns/${from.name}-to-${to.endpoint}`,
    source: from,
    target: to,
    verdict,
    reason: reasons[verdict],
    message: "",
    why: verdict === "failed" ? why : "",
    since: 0,
  };
}

/** All sources times all targets, reached unless `fails` gives a reason. */
export function mesh(
  sources: readonly ResultSource[],
  targets: readonly ResultTarget[],
  fails: (from: ResultSource, to: ResultTarget) => string | undefined = () => undefined,
): CheckResult[] {
  return sources.flatMap((from) =>
    targets
      .filter(({ what }) => what !== `node/${from.name}`)
      .map((to) => {
        const why = fails(from, to);
        return why === undefined ? checkResult(from, to, "reached") : checkResult(from, to, "failed", why);
      }),
  );
}

import { isIP } from "node:net";
import { expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import { parseTarget, type Target, type TargetProblem } from "./target.ts";

const long = "a".repeat(63);

test.each([
  ["10.0.134.23:2379", { host: "10.0.134.23", port: 2379, address: parseAddress("10.0.134.23") }],
  ["[fd00::1]:443", { host: "fd00::1", port: 443, address: parseAddress("fd00::1") }],
  ["[::ffff:10.0.0.1]:1", { host: "::ffff:10.0.0.1", port: 1, address: parseAddress("::ffff:10.0.0.1") }],
  ["etcd.openshift-etcd.svc:2379", { host: "etcd.openshift-etcd.svc", port: 2379 }],
  ["network-check-target:65535", { host: "network-check-target", port: 65_535 }],
  ["Example.COM.:80", { host: "Example.COM.", port: 80 }],
  ["_grpc.a_b.example:80", { host: "_grpc.a_b.example", port: 80 }],
  ["1a.2b:80", { host: "1a.2b", port: 80 }],
  [`${long}.${long}.${long}.${"a".repeat(61)}:80`, { host: `${long}.${long}.${long}.${"a".repeat(61)}`, port: 80 }],
])("%s is a target", (text, expected) => {
  expect(parseTarget(text)).toEqual({ ...expected, text });
});

test("an IPv6 address is printed in its short form", () => {
  expect(parseTarget("[FD00:0:0::0001]:80")).toMatchObject({ host: "fd00::1", text: "[fd00::1]:80" });
});

test.each([
  ["", "empty; use host:port"],
  ["web", "port missing; use host:port"],
  ["web:", "the port after the colon is missing"],
  [":80", "host missing; use host:port"],
  ["web:http", 'the port "http" is not a number'],
  ["web:-1", 'the port "-1" is not a number'],
  ["web:８０", 'the port "８０" is not a number'],
  ["web:080", 'the port "080" has a leading zero'],
  ["web:0", 'the port "0" is not between 1 and 65535'],
  ["web:65536", 'the port "65536" is not between 1 and 65535'],
  ["web:99999999999999999999", 'the port "99999999999999999999" is not between 1 and 65535'],
  [" web:80", "contains a space"],
  ["web:80\n", "contains a space"],
  ["https://web:443", 'use host:port without "https://"'],
  ["web:80/path", 'the port "80/path" is not a number'],
  ["user@web:80", 'unexpected "@" in the name'],
  ["bücher.example:80", 'unexpected "ü" in the name; use the xn-- form of the name'],
  ["fd00::1:80", "IPv6 addresses need brackets: [fd00::1]:443"],
  ["fd00::1", "IPv6 addresses need brackets: [fd00::1]:443"],
  ["[fd00::1]", "port missing; use [address]:port"],
  ["[fd00::1]80", '"80" after the address is not a colon and a port'],
  ["[fd00::1", 'the closing "]" is missing'],
  ["[]:80", "address between the brackets missing"],
  ["[web]:80", "only IPv6 addresses may be in brackets"],
  ["[10.0.0.1]:80", "only IPv6 addresses may be in brackets"],
  ["[fe80::1%eth0]:80", 'a zone is not allowed here, remove "%eth0"'],
  ["[fd00::g]:80", 'unexpected "g" at position 7'],
  ["10.0.0.300:80", "octet 4 is more than 255"],
  ["010.0.0.1:80", "octet 1 has a leading zero"],
  ["10.0.0.1.:80", "an IPv4 address has 4 octets, not 5"],
  ["127.1:80", "an IPv4 address has 4 octets, not 2"],
  ["2130706433:80", "an IPv4 address has 4 octets, not 1"],
  ["0x7f000001:80", 'unexpected "x" at position 2'],
  ["0177.0.0.0x1:80", 'unexpected "x" at position 11'],
  ["web..example:80", "the name has an empty part between its dots"],
  [".web:80", "the name has an empty part between its dots"],
  [".:80", "the name has an empty part between its dots"],
  ["-web:80", 'the part "-web" of the name begins or ends with "-"'],
  ["web-.example:80", 'the part "web-" of the name begins or ends with "-"'],
  [`${long}a:80`, `the part "${long}a" of the name has more than 63 characters`],
  [`${long}.${long}.${long}.${long}:80`, "the name has 255 characters, the limit is 253"],
])("%j is not a valid target", (text, problem) => {
  const parsed = parseTarget(text);
  expect("problem" in parsed && parsed.problem.replace(/^Target "(\\.|[^"\\])*": /, "")).toBe(problem);
});

test("a problem starts with the target, shortened and without control characters", () => {
  expect(parseTarget("web\u009b2J")).toEqual({ problem: 'Target "web\\u009b2J": port missing; use host:port' });
  expect(parseTarget("x".repeat(1000))).toEqual({
    problem: `Target "${"x".repeat(64)}…": port missing; use host:port`,
  });
});

const PARTS = [
  ...Array.from("abz019..--__::[]fF%/@ x\0\u00a0ü٣🎈\ud800"),
  ..."10.0.0. fd00: :: ::1 .svc web 255 256 :80 :443 :65535 ]:443 0x 127.0.0.1 http://".split(" "),
];

/** Targets, nearly targets and noise, always the same ones. */
function* texts(count: number): Generator<string> {
  let state = 7;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  for (let n = 0; n < count; n++) {
    const host = Array.from({ length: below(6) }, () => PARTS[below(PARTS.length)]).join("");
    const octets = Array.from({ length: 4 }, () => below(260)).join(".");
    const shapes = [
      host,
      `${host}:${below(70_000)}`,
      `${octets}:${below(70_000)}`,
      `[fd00::${below(70_000).toString(16)}]:80`,
      `[${host}]:80`,
    ];
    // The last ones are often wrong, and an address that is wrong takes its time.
    yield shapes[Math.min(below(shapes.length), below(shapes.length))] ?? "";
  }
}

function complaint(text: string, target: Target | TargetProblem): string | undefined {
  if ("problem" in target) return /^Target ".*": ./.test(target.problem) ? undefined : target.problem;
  const again = parseTarget(target.text);
  if ("problem" in again || again.text !== target.text || again.host !== target.host || again.port !== target.port)
    return `${text} changes`;
  if (!(target.port > 0 && target.port < 65_536)) return `${text} has no port`;
  if (isIP(target.host) !== (target.address?.family ?? 0)) return `${text} is an address and was taken for a name`;
  return target.address || /^[-._a-zA-Z0-9]{1,254}$/.test(target.host) ? undefined : `${text} has no name`;
}

test("a hundred thousand random texts do not break the parser, and accepted ones survive a round trip", () => {
  const read = Array.from(texts(100_000), (text) => ({ text, target: parseTarget(text) }));
  expect(read.map(({ text, target }) => complaint(text, target)).filter((found) => found !== undefined)).toEqual([]);
  const taken = read.flatMap(({ target }) => ("problem" in target ? [] : [target.address?.family ?? "name"]));
  for (const kind of [4, 6, "name"]) expect(taken.filter((found) => found === kind).length).toBeGreaterThan(500);
}, 60_000);

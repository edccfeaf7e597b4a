import { describe, expect, test } from "vitest";
import type { CheckResult, ResultSource, ResultTarget } from "./check-result.ts";
import { commonCauses } from "./common-cause.ts";
import { partiallyReachable, noResultGroups } from "./no-result.ts";
import { mesh, checkResult, source, target } from "../testing/check-results.ts";

const [n1, n2, n3, n4] = [source("a/n1"), source("a/n2"), source("b/n3"), source("b/n4")];
const nodes = [n1, n2, n3, n4].map(({ name, zone }, at) => target(`192.0.2.${at + 1}:10250`, `node/${name}`, `${zone}/${name}`));
const web1 = target("10.1.1.1:80", "endpoint/shop/web", "a/n1");
const web2 = target("10.1.2.1:80", "endpoint/shop/web", "a/n2");
const web3 = target("10.1.3.1:80", "endpoint/shop/web", "b/n3");
const web = target("10.96.0.5:80", "service/shop/web");
const announced = target("192.0.2.7:80 from router", "external/shop/web");
const db = target("10.96.0.6:5432", "service/shop/db");
const registry = target("registry.example:443");
const others = [target("api.example:443"), target("[fd00::1]:443"), target("[fd00::2]:22")];
const sources = [n1, n2, n3, n4];
const targets = [...nodes, web1, web2, web3, web, db, registry, ...others];

type Fails = (from: ResultSource, to: ResultTarget) => boolean;

const whole = (fails: Fails, why = "Connection timed out") => mesh(sources, targets, (from, to) => (fails(from, to) ? why : undefined));
const isService = ({ what }: ResultTarget) => what.startsWith("service/");
const sentences = (all: readonly CheckResult[]) => commonCauses(all).map(({ sentence }) => sentence);
const unknown = ({ source: from, target: to }: CheckResult, why: string) => checkResult(from, to, "unknown", why);
const pod = (name: string) => source(`c/n9/shop/${name}`);

describe("the common cause is one", () => {
  test.each<[string, CheckResult[], string]>([
    [
      "source",
      whole((from) => from === n1),
      "Node n1 reaches no target: all 12 checks fail, to 12 targets (Connection timed out), while others reach all of them",
    ],
    [
      "target",
      whole((_, to) => to === web2, "Connection refused"),
      "10.1.2.1:80 (endpoint of Service shop/web on node n2) is unreachable: all 4 checks fail, from 4 sources (Connection refused), while all of these sources reach other targets",
    ],
    [
      "node whose local checks work",
      whole((from, to) => (from === n2) !== (to.node === "n2")),
      "Node n2 is isolated: all 17 checks fail, from 4 sources to 13 targets (Connection timed out), while 31 other checks succeed",
    ],
    [
      "node on which a Service answers",
      whole((from, to) => (from === n2) !== (to.node === "n2") && !(from === n2 && to === db)),
      "Node n2 is isolated: all 16 checks fail, from 4 sources to 12 targets (Connection timed out), while 32 other checks succeed",
    ],
    [
      "node that reports",
      whole((from, to) => from !== n2 && to.node === "n2"),
      "No connection works into node n2: all 6 checks fail, from 3 sources to 2 targets (Connection timed out), while all of these sources reach other targets",
    ],
    [
      "zone",
      whole((from, to) => from.zone === "b" || to.zone === "b"),
      "No connection works from or to zone b: all 30 checks fail, from 4 sources to 13 targets (Connection timed out), while 18 other checks succeed",
    ],
    [
      "path between zones",
      whole((from, to) => to.zone !== undefined && from.zone !== to.zone),
      "No connection works between zone a and zone b: all 14 checks fail, from 4 sources to 7 targets (Connection timed out), while 34 other checks succeed",
    ],
    [
      "path between nodes",
      whole((from, to) => from === n1 && to.node === "n3"),
      "No connection works from node n1 to node n3: both checks fail, to 2 targets (Connection timed out), while 46 other checks succeed",
    ],
    [
      "service address, but not its endpoints",
      whole((_, to) => to === web),
      "Service shop/web is unreachable at its address: all 4 checks fail, from 4 sources (Connection timed out), while its endpoints are reachable (12 of 12 checks): the pods work",
    ],
    [
      "service address whose endpoints are not checked",
      whole((_, to) => to === db),
      "Service shop/db is unreachable at its address: all 4 checks fail, from 4 sources (Connection timed out), while all of these sources reach other targets; its endpoints are not checked, so the pods may be the cause",
    ],
    [
      "announced address of a service, but not its endpoints",
      mesh(sources, [...targets, announced], (_, to) => (to === announced ? "Connection timed out" : undefined)),
      "Service shop/web is unreachable at its announced address: all 4 checks fail, from 4 sources (Connection timed out), while its endpoints are reachable (12 of 12 checks): the pods work",
    ],
    [
      "service with its endpoints",
      whole((_, to) => to.what.endsWith("shop/web"), "Connection refused"),
      "Service shop/web is unreachable at its address and at its endpoints: all 16 checks fail, from 4 sources to 4 targets (Connection refused), while all of these sources reach other targets",
    ],
    [
      "path to Services",
      whole((_, to) => isService(to)),
      "No Service is reachable at its address: all 8 checks fail, from 4 sources to 2 targets (Connection timed out), while 40 other checks succeed",
    ],
    [
      "path of a node to Services",
      whole((from, to) => from === n3 && isService(to)),
      "Node n3 reaches no Service at its address: both checks fail, to 2 targets (Connection timed out), while 10 other checks of it succeed",
    ],
    [
      "name server",
      whole((_, to) => to.hostType === "name", "The name server did not answer in time"),
      "No name can be resolved: all 8 checks fail, from 4 sources to 2 targets (The name server did not answer in time), while 40 other checks succeed",
    ],
    [
      "name server of a node",
      whole((from, to) => from === n1 && to.hostType === "name", "The name server did not answer in time"),
      "Node n1 cannot resolve any name: both checks fail, to 2 targets (The name server did not answer in time), while 10 other checks of it succeed",
    ],
    [
      "name",
      whole((_, to) => to === registry, "No such name"),
      "registry.example:443 is unreachable: all 4 checks fail, from 4 sources (No such name), while all of these sources reach other targets",
    ],
    [
      "address family",
      whole((_, to) => to.hostType === "IPv6", "Network is unreachable"),
      "No target is reachable over IPv6: all 8 checks fail, from 4 sources to 2 targets (Network is unreachable), while 40 other checks succeed",
    ],
    [
      "address family of a node",
      whole((from, to) => from === n1 && to.hostType === "IPv6", "Network is unreachable"),
      "Node n1 reaches no target over IPv6: both checks fail, to 2 targets (Network is unreachable), while 10 other checks of it succeed",
    ],
    [
      "port",
      whole((_, to) => to.port === "10250", "Connection refused"),
      "Port 10250 is unreachable on every host: all 12 checks fail, from 4 sources to 4 targets (Connection refused), while all of these sources reach other targets",
    ],
    [
      "pair",
      whole((from, to) => from === n1 && to === web3),
      "Node n1 does not reach 10.1.3.1:80 (endpoint of Service shop/web on node n3): the one check fails (Connection timed out), while it reaches 11 other targets and 3 other sources reach this one",
    ],
    ["whole", whole(() => true), "No target is reachable: all 48 checks fail, from 4 sources to 13 targets (Connection timed out)"],
    [
      "node with two source pods",
      [...whole(() => false), ...mesh([pod("one"), pod("two")], targets, () => "Network is unreachable")],
      "No source on node n9 reaches any target: all 26 checks fail, from 2 sources to 13 targets (Network is unreachable), while others reach all of them; the cause may also be zone c, which no other check covers",
    ],
  ])("%s", (_title, all, sentence) => {
    expect(sentences(all)).toEqual([sentence]);
  });
});

describe("no certain cause is reported for", () => {
  test.each<[string, CheckResult[], string]>([
    [
      "a target with one source",
      [...whole(() => false), checkResult(n1, target("198.51.100.1:443"), "failed")],
      "198.51.100.1:443 is unreachable: the one check fails (Connection timed out), while that source reaches other targets; only node n1 checks it, so the cause is the target or the path from there",
    ],
    [
      "a source with one target",
      [...whole(() => false), checkResult(pod("cron"), db, "failed")],
      "Pod shop/cron reaches no target: the one check fails (Connection timed out), while others reach it; it checks only 10.96.0.6:5432, so the cause is the source or the path from it",
    ],
    [
      "a star of one source",
      mesh([n1], targets, () => "Connection timed out"),
      "Node n1 reaches no target: all 12 checks fail, to 12 targets (Connection timed out); no other source has results, so the source may not be the cause",
    ],
    [
      "the only target",
      mesh(sources, [registry], () => "Connection timed out"),
      "registry.example:443 is unreachable: all 4 checks fail, from 4 sources (Connection timed out); no other target is checked, so the target may not be the cause",
    ],
    [
      "the only check",
      mesh([n1], [registry], () => "No such name"),
      "registry.example:443 is unreachable: the one check fails (No such name); only one check has a result, so the cause cannot be narrowed down",
    ],
    [
      "a source with a reason not to probe another target",
      [
        ...mesh([n1], [registry, target("10.0.0.9:80")], () => "Connection timed out"),
        unknown(checkResult(n1, target("169.254.169.254:80"), "failed"), "TargetRefused"),
      ],
      "Node n1 reaches no target: both checks fail, to 2 targets (Connection timed out); no other source has results, so the source may not be the cause",
    ],
    [
      "a node that does not report",
      whole((_, to) => to.node === "n2", "No route to host").map((one) => (one.source === n2 ? unknown(one, "Stale") : one)),
      "No target on node n2 is reachable: all 6 checks fail, from 3 sources to 2 targets (No route to host), while all of these sources reach other targets, and the sources there do not report (12 checks)",
    ],
    [
      "a target that some sources reach",
      whole((from, to) => to === registry && from !== n1, "Connection refused"),
      "registry.example:443 is unreachable from node n2, node n3 and node n4 (Connection refused), while 1 other source reaches it, so the target itself works",
    ],
    [
      "a source that reaches some targets",
      whole((from, to) => from === n1 && [web3, db, registry].includes(to)),
      "Node n1 does not reach 10.1.3.1:80, 10.96.0.6:5432 and registry.example:443 (Connection timed out), while it reaches 9 other targets, so the source itself works",
    ],
  ])("%s", (_title, all, sentence) => {
    expect(sentences(all)).toEqual([sentence]);
  });

  test("sources without results, and checks that were never probed", () => {
    const all = whole(() => false).map((one) => unknown(one, one.source === n1 ? "NoResultYet" : "Stale"));
    expect(commonCauses(all)).toEqual([]);
    expect(noResultGroups(all).map(({ sentence }) => sentence)).toEqual([
      "Node n2, node n3 and node n4 no longer report (36 checks): the results are unknown",
      "12 checks of node n1 have no result yet",
    ]);
  });

  test("checks that are not probed, with their reason", () => {
    const check: CheckResult = {
      ...checkResult(n1, target("127.0.0.1:80"), "unknown", "TargetRefused"),
      message: "127.0.0.1 is a loopback address",
    };
    expect(noResultGroups([check]).map(({ sentence }) => sentence)).toEqual([
      "1 check does not run, ns/n1-to-127.0.0.1:80: 127.0.0.1 is a loopback address",
    ]);
  });
});

describe("an answer that is not as expected came over a path that works", () => {
  const why = "status 503, expected 200 to 299";
  test.each<[string, CheckResult[], string[]]>([
    [
      "the only target",
      mesh(sources, [registry], () => why),
      [`registry.example:443 is unreachable: all 4 checks fail, from 4 sources (${why})`],
    ],
    [
      "all targets on a node",
      whole((_, to) => to.node === "n2", why),
      [
        `10.1.2.1:80 (endpoint of Service shop/web on node n2) is unreachable: all 4 checks fail, from 4 sources (${why}), while all of these sources reach other targets`,
        `192.0.2.2:10250 (node n2) is unreachable: all 3 checks fail, from 3 sources (${why}), while all of these sources reach other targets`,
      ],
    ],
    [
      "one of the targets of a source",
      mesh([n1], [target("10.9.0.1:80"), target("10.9.0.2:81"), target("10.9.0.3:82")], (_, to) =>
        to.port === "82" ? why : "Connection timed out",
      ),
      [`Node n1 does not reach 10.9.0.1:80, 10.9.0.2:81 and 10.9.0.3:82 (Connection timed out 2, ${why} 1)`],
    ],
    [
      "a Service, which may have a pod on the isolated node",
      whole((from, to) => (from === n2) !== (to.node === "n2")).map((one) =>
        one.source === n2 && one.target === db ? checkResult(n2, db, "failed", why) : one,
      ),
      [
        "Node n2 is isolated: all 17 checks fail, from 4 sources to 13 targets (Connection timed out 16, status 503, expected 200 to 299 1), while 31 other checks succeed",
      ],
    ],
  ])("%s", (_title, all, expected) => {
    expect(sentences(all)).toEqual(expected);
  });
});

test("two causes are two sentences, the larger one first", () => {
  expect(sentences(whole((from, to) => from === n4 || to.hostType === "IPv6" || to === web2))).toEqual([
    "Node n4 reaches no target: all 12 checks fail, to 12 targets (Connection timed out), while others reach 9 of them",
    "No target is reachable over IPv6: all 8 checks fail, from 4 sources to 2 targets (Connection timed out), while 27 other checks succeed",
    "10.1.2.1:80 (endpoint of Service shop/web on node n2) is unreachable: all 4 checks fail, from 4 sources (Connection timed out), while 3 of these sources reach other targets",
  ]);
});

test("many failures without a common cause are combined into one sentence", () => {
  const many = Array.from({ length: 30 }, (_, at) => source(`a/m${at}`));
  const far = Array.from({ length: 30 }, (_, at) => target(`10.2.0.${at}:80`));
  const apart = (most: number) => (from: ResultSource, to: ResultTarget) =>
    (far.indexOf(to) - many.indexOf(from) + 30) % 30 < most ? "Connection timed out" : undefined;
  expect(sentences(mesh(many, far, apart(1)))).toEqual([
    "30 checks fail from 30 sources to 30 targets with nothing in common (Connection timed out)",
  ]);
  expect(sentences(mesh(many, far, apart(2)))).toEqual([
    "60 checks fail from 30 sources to 30 targets with nothing in common (Connection timed out)",
  ]);
});

test("a name that is reached at some of its addresses is listed and is no cause", () => {
  const message = "1 of 2 addresses failed: Failed connect to registry.example:443; Network is unreachable (fd00::1)";
  const all = whole(() => false).map((one): CheckResult =>
    one.target === registry && one.source !== n1 ? Object.assign(one, { message, isPartial: true } as const) : one,
  );
  expect(commonCauses(all)).toEqual([]);
  expect(partiallyReachable(all)).toEqual([`registry.example:443 is only partly reachable from 3 sources: ${message}`]);
});

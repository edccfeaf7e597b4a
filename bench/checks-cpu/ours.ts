import { parsePrefix } from "../../src/ip/prefix.ts";
import { probe } from "../../src/connectivity/probe/probe.ts";
import { ProbeScheduler } from "../../src/connectivity/probe/scheduler.ts";
import { parseTarget } from "../../src/connectivity/probe/target.ts";
import type { Spent } from "./report.ts";

// The rounds of a source with its own pace, and the probe as it ships.

const [checks = 0, warmUp = 0] = process.argv.slice(2, 4).map(Number);
const targets = process.argv.slice(4).map(parseTarget);
const allowed = [parsePrefix("127.0.0.0/8")];
const stop = new AbortController();
let before = process.cpuUsage();
let [tried, reached] = [0, 0];

const rounds = new ProbeScheduler({
  // Each is tried once only.
  intervalMs: 3_600_000,
  probe: (target, seq, signal, admit) => probe(target, seq, { signal, admit, allowed }),
  onAttempt: (_, { reachable }) => {
    tried += 1;
    if (tried === warmUp) before = process.cpuUsage();
    if (tried > warmUp && reachable) reached += 1;
    if (tried === warmUp + checks) stop.abort();
  },
});
for (let check = 0; check < warmUp + checks; check++) {
  const target = targets[check % targets.length];
  if (target && "host" in target) rounds.set(`check-${check}`, target);
}
await rounds.run(stop.signal);
const { user, system } = process.cpuUsage(before);
const spent: Spent = { cpuMs: (user + system) / 1000, reached };
process.send?.(spent);

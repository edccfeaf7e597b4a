/** Random inputs, the same for the same seed. */

const SOAK = process.env["PLUMBLINE_SOAK_MINUTES"] !== undefined;
export const SEED = Number(process.env["PLUMBLINE_SOAK_SEED"] ?? (SOAK ? Date.now() % 1_000_000 : 7));
export const TIMEOUT_MS = SOAK ? 3_600_000 : 300_000;
/** Together eighty thousand inputs, and a million under `npm run soak`. */
export const runs = (count: number): number => (SOAK ? Math.ceil(count * 12.5) : count);

/** Text that means something to a terminal, a shell, FRR, HTTP, JSON, HTML, a URL, a path or Prometheus. */
const HOSTILE = [
  "",
  "\u0000",
  "\n",
  "\r\n",
  "\u001b[2J\u001b[31m",
  "\u001b]0;title\u0007",
  "\u009b31m",
  "\u2028",
  "\u202e",
  "\ud800",
  "😀",
  "%00",
  "%zz",
  "%2e%2e%2f",
  "../../etc/passwd",
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "javascript:alert(1)",
  '{"a":',
  '"}',
  "\\",
  "\\u0000",
  "$(reboot)",
  "`reboot`",
  "; reboot",
  "no router bgp 64514",
  "neighbor 6.6.6.6 remote-as 6",
  "% Unknown command",
  'a="b",c="d"} 1\nevil_metric 1',
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "null",
  "NaN",
  "-1",
  "9999999999999999999999",
  "1e400",
  "١٢٣",
  "x".repeat(300),
];

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761) >>> 0 || 1;
  }

  /** From 0, below `below`. */
  int(below: number): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state >>> 0;
    return this.#state % below;
  }

  chance(percent: number): boolean {
    return this.int(100) < percent;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(from.length)] as T;
  }

  bytes(most: number): Buffer {
    return Buffer.from(Array.from({ length: this.int(most) }, () => this.int(256)));
  }

  text(): string {
    if (this.chance(60)) return this.pick(HOSTILE);
    if (this.chance(50)) return this.pick(HOSTILE) + this.pick(HOSTILE);
    return this.bytes(24).toString(this.chance(50) ? "latin1" : "utf8");
  }

  json(depth = 3): Json {
    const kind = this.int(depth > 0 ? 8 : 6);
    if (kind === 0) return null;
    if (kind === 1) return this.chance(50);
    if (kind === 2) return this.pick([0, -1, 1, 0.5, 2 ** 31, 2 ** 53, 1e300, -1e300, 64512]);
    if (kind < 6) return this.text();
    if (kind === 6) return Array.from({ length: this.int(4) }, () => this.json(depth - 1));
    return Object.fromEntries(Array.from({ length: this.int(4) }, () => [this.text(), this.json(depth - 1)]));
  }

  /** The same with something in it exchanged, left out or added. */
  mutated(value: Json): Json {
    if (this.chance(8)) return this.json();
    if (Array.isArray(value)) {
      if (value.length === 0 || this.chance(10)) return [...value, this.json(1)];
      const at = this.int(value.length);
      return value.map((one, index) => (index === at ? this.mutated(one) : one));
    }
    if (typeof value === "object" && value !== null) {
      const keys = Object.keys(value);
      if (keys.length === 0 || this.chance(10)) return { ...value, [this.text()]: this.json(1) };
      const key = this.pick(keys);
      if (this.chance(10)) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
      return { ...value, [key]: this.mutated(value[key] as Json) };
    }
    return this.json(1);
  }

  /** Text with bytes exchanged, left out or repeated. */
  broken(text: string): Buffer {
    const bytes = Buffer.from(text);
    if (bytes.length === 0) return bytes;
    const at = this.int(bytes.length);
    const kind = this.int(4);
    if (kind === 0) return bytes.subarray(0, at);
    if (kind === 1) return Buffer.concat([bytes.subarray(0, at), this.bytes(8), bytes.subarray(at)]);
    if (kind === 2) return Buffer.concat([bytes.subarray(0, at), bytes.subarray(this.int(bytes.length))]);
    bytes[at] = this.int(256);
    return bytes;
  }
}

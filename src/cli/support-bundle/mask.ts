import { isObject } from "../../api/admission/value.ts";

export type Content = { readonly text: string } | { readonly json: unknown };

const MASK = "<masked>";

/** Names are not masked: a password that is also a name stays in that name. */
const NAMES = new Set(["apiVersion", "kind", "name", "namespace", "uid", "resourceVersion"]);
/** Shorter ones would match parts of other words. */
const SHORTEST = 4;

/** Masks secrets by their field first, then wherever else the same value occurs. */
export function masked(contents: readonly Content[]): Content[] {
  const known = new Set<string>();
  const once = contents.map((content) =>
    "text" in content ? { text: maskText(content.text, known) } : { json: maskValue(content.json, "", known) },
  );
  const forget = forgetting(known);
  return once.map((content) => ("text" in content ? { text: forget(content.text) } : { json: everyText(content.json, "", forget) }));
}

function maskValue(value: unknown, field: string, known: Set<string>): unknown {
  if (typeof value === "string") return isSecretField(field) ? hide(value, known) : maskText(value, known);
  if (Array.isArray(value)) return value.map((item, at) => maskItem(item, value[at - 1], field, known));
  if (!isObject(value)) return value;
  const whole = value["kind"] === "Secret" ? ["data", "stringData"] : [];
  const named = typeof value["name"] === "string" && isSecretField(value["name"]);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (whole.includes(key) && isObject(member)) return [key, hideAll(member, known)];
      // A variable of a container may contain anything.
      if (key === "value" && typeof member === "string" && (named || field === "env")) return [key, hide(member, known)];
      return [key, maskValue(member, key, known)];
    }),
  );
}

/** The value after a flag: `--token`, `x`. */
function maskItem(item: unknown, before: unknown, field: string, known: Set<string>): unknown {
  const [, flag = ""] = typeof before === "string" ? (/^--?([\w-]+)$/.exec(before) ?? []) : [];
  return typeof item === "string" && !item.startsWith("-") && isSecretField(flag) ? hide(item, known) : maskValue(item, field, known);
}

function hideAll(members: Readonly<Record<string, unknown>>, known: Set<string>): unknown {
  return Object.fromEntries(
    Object.entries(members).map(([key, member]) => {
      if (typeof member !== "string") return [key, MASK];
      known.add(Buffer.from(member, "base64").toString());
      return [key, hide(member, known)];
    }),
  );
}

function hide(secret: string, known: Set<string>): string {
  if (secret === "") return secret;
  known.add(secret);
  return MASK;
}

function maskText(text: string, known: Set<string>): string {
  const inner = jsonIn(text);
  if (inner !== undefined) return JSON.stringify(maskValue(inner, "", known)) + (text.endsWith("\n") ? "\n" : "");
  let rest = "";
  let end = 0;
  for (const { from, to, sure } of secretsIn(text).sort((a, b) => a.from - b.from || b.to - a.to)) {
    const secret = text.slice(from, to);
    if (sure && secret !== MASK) known.add(secret);
    if (to <= end) continue;
    rest += from < end ? "" : text.slice(end, from) + MASK;
    end = to;
  }
  return rest + text.slice(end);
}

/** The value of a text that is JSON itself, such as kubectl's last-applied-configuration. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Removes these secrets from a text, also in their encoded forms. */
function forgetting(known: ReadonlySet<string>): (text: string) => string {
  const plain = [...known].map((secret) => secret.trim()).filter((secret) => secret.length >= SHORTEST && secret !== MASK);
  const encodings = new Set(plain.flatMap(encodingsOf));
  if (encodings.size === 0) return (text) => text;
  // The longest first: another may begin with it.
  const anyOf = new RegExp(
    [...encodings]
      .sort((a, b) => b.length - a.length)
      .map(pattern)
      .join("|"),
    "g",
  );
  return (text) => text.replaceAll(anyOf, MASK);
}

function encodingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), bytes.toString("base64"), bytes.toString("base64url")];
}

/** A secret that could be part of a name must match as a whole word: `metallb` stays in `metallb-system`. */
function pattern(secret: string): string {
  const literal = RegExp.escape(secret);
  return /^[a-z][a-z0-9-]{0,30}$/.test(secret) ? `(?<!\\w|\\w[-.])${literal}(?!\\w|[-.]\\w)` : literal;
}

function everyText(value: unknown, field: string, change: (text: string) => string): unknown {
  if (typeof value === "string") return NAMES.has(field) ? value : change(value);
  if (Array.isArray(value)) return value.map((item) => everyText(item, field, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, everyText(member, key, change)]));
}

interface SecretRange {
  readonly from: number;
  readonly to: number;
  /** So certain that every other occurrence is masked too. */
  readonly sure: boolean;
}

const NAMED_SO =
  /(?:password|passwd|passphrase|psk|token|secret|kubeconfig|credentials?|authorization|(?:api|auth|private|secret|access|client|tls|ssh|signing|encryption)key)(?:data|value|string|hash|base64)?$|^pass$/;
/** Fields with the name of a Secret. */
const REFERENCE = /passwordsecret$|kubeconfigsecret$|pullsecret$/;

/** Whether a field of this name holds a secret; `spec.password`, `client-key-data` and `example.com/api_token` do. */
function isSecretField(field: string): boolean {
  const own = field.slice(Math.max(field.lastIndexOf("/"), field.lastIndexOf(".")) + 1);
  const letters = own.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  // `tls.key` is a file name.
  return (NAMED_SO.test(letters) && !REFERENCE.test(letters)) || /\b(?:tls|ca|server|client)\.key$/i.test(field);
}

/** The group `secret` is the secret. Text after the last word of an FRR line is not part of it. */
const SURE: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?<secret>[\s\S]*?)(?:-----END|$)/dg,
  /\b(?<secret>eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)/dg,
  /\bBearer\s+(?<secret>[^\s"',;]{8,})/dg,
  /:\/\/[^\s/@:]*:(?<secret>[^\s@/]+)@/dg,
  /\b(?:neighbor|msdp peer) \S+ password (?:\d )?(?<secret>\S+)/dg,
  /\bnhrp authentication (?<secret>\S+)/dg,
  /^[ \t]*(?:no )?(?:enable )?(?:domain-|area-|isis )?password (?:(?:\d|clear|md5) )?(?<secret>\S+)[ \t\r]*$/dgm,
  /^[ \t]*username \S+ (?:\S+ )?password (?:\d )?(?<secret>\S+)/dgm,
  /^[ \t]*(?:no )?key-string (?<secret>.*\S)/dgm,
  /\bauthentication-key (?<secret>\S+)/dg,
  /\bmessage-digest-key \d+ md5 (?<secret>\S+)/dg,
  /\bauthentication string (?<secret>.*\S)/dg,
  /\bhash-algo \S+ key (?<secret>\S+)/dg,
  /\bsnmp-server community (?<secret>\S+)/dg,
];

// Matches only at the start of a word: matching from each letter of a long one would take too long.

/** `token: x`, `"password":"x"`, `--api-key=x`, `--token x`: the name decides whether the value is secret. */
const ASSIGNED =
  /(?<![\w./-])(?<field>[\w./-]+)(?:["']?\s*[:=]\s*| {1,4}(?<=(?<!\w)--[\w-]+ {1,4}))(?:"(?<quoted>(?:[^"\\]|\\.)*)"|'(?<single>[^']*)'|(?<bare>[^\s,;&}"']+))/dg;
/** The form of an API server's error: `spec.password: Invalid value: "x": must be …`. */
const REPEATED = /(?<![\w./[\]-])(?<field>[\w./[\]-]+): (?:Invalid|Unsupported|Duplicate) value: "(?<quoted>(?:[^"\\]|\\.)*)"/dg;

/** Finds secrets in text, FRR configuration and other formats. */
function secretsIn(text: string): SecretRange[] {
  const found: SecretRange[] = [];
  for (const rule of SURE) for (const { indices } of text.matchAll(rule)) found.push(...stretch(indices?.groups?.["secret"], true));
  for (const { groups, indices } of text.matchAll(ASSIGNED)) {
    const { field = "", bare } = groups ?? {};
    if (!isSecretField(field)) continue;
    // `spec.password: has a space` is a sentence about a field.
    if (bare !== undefined && field.includes(".") && !/\bdata\b/.test(field)) continue;
    const value = indices?.groups?.["quoted"] ?? indices?.groups?.["single"] ?? indices?.groups?.["bare"];
    found.push(...stretch(value, bare === undefined ? true : isGenerated(bare)));
  }
  for (const { groups, indices } of text.matchAll(REPEATED)) {
    if (isSecretField(groups?.["field"] ?? "")) found.push(...stretch(indices?.groups?.["quoted"], true));
  }
  return found;
}

function stretch(at: readonly [number, number] | undefined, sure: boolean): SecretRange[] {
  return at && at[1] > at[0] ? [{ from: at[0], to: at[1], sure }] : [];
}

/** Not a word of a language. */
function isGenerated(value: string): boolean {
  return value.length >= 8 && /[^A-Za-z]/.test(value);
}

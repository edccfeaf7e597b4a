export interface SecretRange {
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
export function isSecretField(field: string): boolean {
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
export function secretsIn(text: string): SecretRange[] {
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

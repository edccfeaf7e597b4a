const LITERALS = new Map<string, boolean | null | number>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((literal) => [literal, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((literal) => [literal, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((literal) => [literal, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((literal) => [literal, NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((literal) => [literal, Infinity] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((literal) => [literal, -Infinity] as const),
]);

const INTEGER = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const MAX_INTEGER = 2n ** 64n;

/**
 * Reads an unquoted scalar as kubectl does, which is YAML 1.1 in the variant of go-yaml v2: `yes` is true, `0644` is 420, and `64512:10` is
 * text.
 */
export function plainScalar(text: string): string | number | boolean | null {
  const literal = LITERALS.get(text);
  if (literal !== undefined) return literal;
  if (!/^[-+.0-9]/.test(text)) return text;
  const digits = text.startsWith(".") ? text : text.replaceAll("_", "");
  return integer(digits) ?? float(digits) ?? text;
}

function integer(text: string): number | undefined {
  const match = INTEGER.exec(text);
  if (!match) return undefined;
  const [, sign, hexadecimal, binary, octal, decimal] = match;
  const size = BigInt(hexadecimal ? `0x${hexadecimal}` : binary ? `0b${binary}` : octal ? `0o${octal}` : `${decimal}`);
  // Larger ones are read as floats, with leading zeros.
  if (size >= MAX_INTEGER || (sign === "-" && size > MAX_INTEGER / 2n)) return undefined;
  return sign === "-" && size > 0n ? -Number(size) : Number(size);
}

function float(text: string): number | undefined {
  if (!FLOAT.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value + 0 : undefined;
}

/** Values as Go prints them in the API server's messages. */

const escapes: Record<string, string> = {
  '"': '\\"',
  "\\": "\\\\",
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** `%q`: a quoted string with escapes. */
export function goQuote(text: string): string {
  return `"${text.replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (char) => escapes[char] ?? escapeCode(char.codePointAt(0) ?? 0))}"`;
}

function escapeCode(code: number): string {
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x1_00_00 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
}

/** `%v` of a float64: the shortest digits, with an exponent from 1e+06 on and below 1e-04. */
function goFloat(value: number): string {
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** The server keeps a number as int64 if possible, else as float64. */
export function isInt64(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}

function goNumber(value: number): string {
  return isInt64(value) ? BigInt(value).toString() : goFloat(value);
}

/** A bound is a float64 in the schema; it is printed as the type of the compared number. */
export function goBound(bound: number, compared: number): string {
  return isInt64(compared) ? BigInt(bound).toString() : goFloat(bound);
}

/** json.Marshal: sorted keys, and characters escaped that are special in HTML. */
export function goJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, item]) => `${goJson(key)}:${goJson(item)}`).join(",")}}`;
  }
  // A missing field is nil.
  return JSON.stringify(value ?? null).replaceAll(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function goValue(value: unknown): string {
  if (typeof value === "string") return goQuote(value);
  return typeof value === "number" ? goNumber(value) : goJson(value);
}

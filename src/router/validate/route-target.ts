const DOTTED = /^[0-9]+(\.[0-9]+){3}$/;
const DIGITS = /^[0-9]{1,10}$/;

/** A route target as FRR prints it: `64514:100`, `192.0.2.1:100`. undefined for what is none. */
export function routeTarget(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const [left = "", right = "", ...rest] = text.split(":");
  if (rest.length > 0 || !DIGITS.test(right)) return undefined;
  const value = Number(right);

  if (DOTTED.test(left)) {
    const octets = left.split(".");
    if (octets.some((octet) => Number(octet) > 255 || (octet.length > 1 && octet.startsWith("0"))) || value > 0xffff) return undefined;
    return `${left}:${value}`;
  }
  if (!DIGITS.test(left)) return undefined;
  const asn = Number(left);
  if (asn > 0xffff_ffff || value > (asn > 0xffff ? 0xffff : 0xffff_ffff)) return undefined;
  return `${asn}:${value}`;
}

export type IpErrorCode =
  | "Empty"
  | "UnexpectedCharacter"
  | "ZoneNotAllowed"
  | "WrongCount"
  | "EmptyPart"
  | "LeadingZero"
  | "TooLarge"
  | "CompressedTwice"
  | "MisplacedIPv4"
  | "MissingPrefixLength"
  | "HostBitsSet"
  | "NotARange"
  | "MixedFamilies"
  | "Reversed"
  | "OutOfRange";

/** The message has `input` and `reason`: `"192.168.1.300": octet 4 is more than 255`. */
export class IpError extends Error {
  override readonly name = "IpError";
  readonly code: IpErrorCode;
  readonly input: string;
  readonly reason: string;

  constructor(code: IpErrorCode, input: string, reason: string, options?: ErrorOptions) {
    super(`${quote(input)}: ${reason}`, options);
    this.code = code;
    this.input = input;
    this.reason = reason;
  }
}

/** Parses a part of the input. An error has the whole as its input, and its reason names the part. */
export function parsePart<T>(parse: (part: string) => T, part: string, whole: string): T {
  try {
    return parse(part);
  } catch (error) {
    if (!(error instanceof IpError)) throw error;
    const reason = part === "" || part === whole ? error.reason : `in ${quote(part)} ${error.reason}`;
    throw new IpError(error.code, whole, reason, { cause: error });
  }
}

/** For statuses and terminals: no control characters, and shortened. */
export function quote(text: string): string {
  const quoted = JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
  // JSON does not escape these, and terminals interpret them.
  return quoted.replaceAll(/[\p{Cc}\u2028\u2029]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

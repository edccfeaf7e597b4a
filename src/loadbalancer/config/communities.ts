import { createHash } from "node:crypto";
import type { Community } from "../../api/metallb/community.ts";
import { quote } from "../../ip/error.ts";
import type { Claim } from "../../resilience/claim.ts";
import { type ConfigProblem, type ParseResult, parseResult, repeated, type ResourceVersion } from "./field-error.ts";

type CommunityValue = { readonly value: string } | { readonly problem: string; readonly is: "value" | "format" };

/** `64512:100` or `large:64512:1:2`, the numbers without leading zeros. */
export function parseCommunity(text: string): CommunityValue {
  const parts = text.split(":");
  const large = parts[0] === "large" && parts.length === 4;
  const numbers = large ? parts.slice(1) : parts;
  if (!large && parts.length !== 2) return { is: "format", problem: `invalid community format: ${quoteIfUnsafe(text)}` };
  const max = large ? 4_294_967_295 : 65_535;
  const wrong = numbers.find((number) => !/^[0-9]{1,10}$/.test(number) || Number(number) > max);
  if (wrong !== undefined) {
    return { is: "value", problem: `invalid community value: ${quote(wrong)} in ${quote(text)} is not a number from 0 to ${max}` };
  }
  return { value: [...(large ? ["large"] : []), ...numbers.map(Number)].join(":") };
}

/** Alias to value. */
export function readCommunity({ spec }: ResourceVersion<Community["spec"]>): ParseResult<ReadonlyMap<string, string>> {
  const aliases = (spec.communities ?? []).map(({ name = "", value = "" }) => ({ name, read: parseCommunity(value) }));
  const problems: ConfigProblem[] = [
    ...aliases.flatMap(({ name, read }, nth): ConfigProblem[] => {
      if ("value" in read) return [];
      return [{ rule: "C1", field: `spec.communities[${nth}].value`, message: `parsing community ${quote(name)}: ${read.problem}` }];
    }),
    ...repeated(aliases.map(({ name }) => name)).map(({ text, nth }): ConfigProblem => {
      return { rule: "C2", field: `spec.communities[${nth}].name`, message: duplicateAlias(text) };
    }),
  ];
  const meaning = () => new Map(aliases.flatMap(({ name, read }) => ("value" in read ? [[name, read.value] as const] : [])));
  return parseResult(problems, meaning, communityClaims(spec));
}

export function duplicateAlias(name: string): string {
  return `duplicate definition of community ${quote(name)}`;
}

export function communityClaims({ communities = [] }: Community["spec"]): Claim[] {
  const names = communities.map(({ name = "" }) => name);
  return [...new Set(names)].map((name) => ({
    key: `alias/${recordable(name)}`,
    field: `spec.communities[${names.indexOf(name)}].name`,
    subject: name,
  }));
}

/** A recorded claim has at most 256 characters: long or unprintable names are hashed. */
function recordable(name: string): string {
  return name.length <= 200 && !/\p{Cc}/u.test(name) ? name : createHash("sha256").update(name).digest("hex");
}

/** Quotes a text that is long or has control characters. */
export function quoteIfUnsafe(text: string): string {
  return text.length <= 64 && !/[\p{Cc}\u2028\u2029]/u.test(text) ? text : quote(text);
}

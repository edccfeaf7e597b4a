import type { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import type { Profile } from "./config.ts";
import { type ConfigProblem, configProblemIf, type ParseResult, parseResult, type ResourceVersion } from "./field-error.ts";

const LIMITS = [
  ["detectMultiplier", "detect multiplier", 2, 255],
  ["receiveInterval", "receive interval", 10, 60_000],
  ["transmitInterval", "transmit interval", 10, 60_000],
  ["minimumTtl", "minimum ttl", 1, 254],
  ["echoInterval", "echo interval", 10, 60_000],
] as const;

/** FRR cuts the name of a profile off there, and two could become one. */
const LONGEST = 63;

export function readProfile({ name, generation, spec }: ResourceVersion<BFDProfile["spec"]>): ParseResult<Profile> {
  const problems: ConfigProblem[] = [
    ...configProblemIf(name === "", "B2", "metadata.name", () => "missing bfd profile name"),
    ...configProblemIf(
      name.length > LONGEST,
      "B2",
      "metadata.name",
      () => `bfd profile name ${name} has more than ${LONGEST} characters, the maximum of FRR`,
    ),
    ...LIMITS.flatMap(([field, title, min, max]) => {
      const value = spec[field];
      const wrong = value !== undefined && !(Number.isInteger(value) && value >= min && value <= max);
      const message = () => `parsing bfd profile ${name}: invalid value ${value}, must be in ${min}-${max} range\ninvalid ${title} value`;
      return configProblemIf(wrong, "B1", `spec.${field}`, message);
    }),
  ];
  return parseResult(problems, () => {
    const { receiveInterval, transmitInterval, detectMultiplier, echoInterval, minimumTtl, echoMode = false, passiveMode = false } = spec;
    return {
      name,
      generation,
      echoMode,
      passiveMode,
      ...(receiveInterval !== undefined && { receiveInterval }),
      ...(transmitInterval !== undefined && { transmitInterval }),
      ...(detectMultiplier !== undefined && { detectMultiplier }),
      ...(echoInterval !== undefined && { echoInterval }),
      ...(minimumTtl !== undefined && { minimumTtl }),
    };
  });
}

import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { ConfigurationStatus } from "../../api/metallb/configuration-status.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { Picture } from "../../kube/status/plan.ts";
import { cut, fitting } from "../../kube/status/limits.ts";

export const configurationStatusName = "config-status";

/** In bytes. */
const ROOM = 200_000;
const LONGEST = 65_536;
/** The names that a condition's message has room for. */
const NAMED = 10;

/** What all components together say of the configuration. */
export function configurationStatus(states: readonly ConfigurationState[]): Picture<ConfigurationStatus> {
  const sorted = states.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const saying = (result: string) => sorted.filter(({ status }) => (status?.result ?? "Unknown") === result).map(nameOf);
  const [valid, invalid, unknown] = [saying("Valid"), saying("Invalid"), saying("Unknown")];
  const errors = new Set(sorted.filter(({ status }) => status?.result === "Invalid").flatMap(errorsOf));
  const reported = valid.length + invalid.length > 0;
  const lastError = cut([...errors].join("\n"), LONGEST);
  return {
    status: {
      ...(reported && { validConfig: invalid.length === 0 }),
      lastError,
      ...(lastError !== "" && { error: lastError }),
      components: { valid: valid.length, invalid: invalid.length, unknown: unknown.length },
      ...(invalid.length > 0 && { invalidComponents: fitting(invalid, ROOM) }),
      ...(unknown.length > 0 && { unknownComponents: fitting(unknown, ROOM) }),
      conditions: [verdict(valid.length, invalid, unknown)],
    },
    create: {},
  };
}

/** Without the words that each component puts before them, so that what several of them find counts once. */
function errorsOf({ status }: ConfigurationState): string[] {
  const messages = (status?.failedResources ?? []).map(({ message }) => message);
  return messages.length > 0 ? messages : [status?.lastError ?? ""];
}

function nameOf({ metadata }: ConfigurationState): string {
  return metadata.name;
}

function verdict(valid: number, invalid: readonly string[], unknown: readonly string[]): ConditionReport {
  const type = "Valid";
  if (invalid.length > 0) return { type, status: "False", reason: "ConfigurationInvalid", message: `Not valid for ${named(invalid)}` };
  if (unknown.length > 0) return { type, status: "Unknown", reason: "ComponentsSilent", message: `Nothing is known of ${named(unknown)}` };
  if (valid === 0) return { type, status: "Unknown", reason: "NothingReported", message: "No component has reported yet" };
  return { type, status: "True", reason: "ConfigurationValid", message: "Valid for every component" };
}

function named(components: readonly string[]): string {
  const rest = components.length - NAMED;
  return components.slice(0, NAMED).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

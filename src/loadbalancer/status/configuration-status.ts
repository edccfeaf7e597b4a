import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { ConfigurationStatus } from "../../api/metallb/configuration-status.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import { truncate, truncateList } from "../../kube/status/limits.ts";
import { joinFirst } from "../../util/text.ts";

export const configurationStatusName = "config-status";

/** In bytes. */
const ROOM = 200_000;
const LONGEST = 65_536;
const NAMED = 10;

/** The summary over all components. */
export function configurationStatus(states: readonly ConfigurationState[]): DesiredStatus<ConfigurationStatus> {
  const sorted = states.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const saying = (result: string) =>
    sorted.filter(({ status }) => (status?.result ?? "Unknown") === result).map(({ metadata }) => metadata.name);
  const [valid, invalid, unknown] = [saying("Valid"), saying("Invalid"), saying("Unknown")];
  const errors = new Set(sorted.filter(({ status }) => status?.result === "Invalid").flatMap(errorsOf));
  const reported = valid.length + invalid.length > 0;
  const lastError = truncate([...errors].join("\n"), LONGEST);
  return {
    status: {
      ...(reported && { validConfig: invalid.length === 0 }),
      lastError,
      ...(lastError !== "" && { error: lastError }),
      components: { valid: valid.length, invalid: invalid.length, unknown: unknown.length },
      ...(invalid.length > 0 && { invalidComponents: truncateList(invalid, ROOM) }),
      ...(unknown.length > 0 && { unknownComponents: truncateList(unknown, ROOM) }),
      conditions: [verdict(valid.length, invalid, unknown)],
    },
    create: {},
  };
}

/** Without each component's prefix, so that duplicates count once. */
function errorsOf({ status }: ConfigurationState): string[] {
  const messages = (status?.failedResources ?? []).map(({ message }) => message);
  return messages.length > 0 ? messages : [status?.lastError ?? ""];
}

function verdict(valid: number, invalid: readonly string[], unknown: readonly string[]): ConditionReport {
  const type = "Valid";
  if (invalid.length > 0)
    return { type, status: "False", reason: "ConfigurationInvalid", message: `Invalid for ${joinFirst(invalid, NAMED)}` };
  if (unknown.length > 0)
    return { type, status: "Unknown", reason: "ComponentsSilent", message: `No report from ${joinFirst(unknown, NAMED)}` };
  if (valid === 0) return { type, status: "Unknown", reason: "NothingReported", message: "No component has reported yet" };
  return { type, status: "True", reason: "ConfigurationValid", message: "Valid for every component" };
}

import { groupOf, type Kind, type KubeObject } from "../../api/kind.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import type { Discovered, Resource } from "./discovery.ts";
import { didYouMean } from "./nearest.ts";

/** `l3vni.openpe.openperouter.github.io`, `pod`: how kubectl and we name a kind in output. */
export function labelOf(of: Pick<Kind, "kind" | "group"> | KubeObject): string {
  const group = "group" in of ? of.group : groupOf(of.apiVersion);
  const kind = (of.kind ?? "").toLowerCase();
  return group === "" ? kind : `${kind}.${group}`;
}

/**
 * Resolves `pods`, `po`, `L3VNI`, `l3vnis.openpe.openperouter.github.io`, a category such as `plumbline`, or a comma-separated list of
 * them.
 */
export function resolveAll(list: string, discovered: Discovered): Resource[] {
  const found = list.split(",").flatMap((text) => {
    const members = discovered.resources.filter(({ categories, verbs }) => categories.includes(text) && verbs.includes("list"));
    return members.length > 0 && matches(text, discovered.resources).length === 0 ? members : [resolve(text, discovered)];
  });
  return [...new Map(found.map((resource) => [`${resource.plural}.${resource.group}`, resource])).values()];
}

export function resolve(text: string, discovered: Discovered): Resource {
  const found = matches(text, discovered.resources);
  const [first, ...others] = found;
  if (!first) throw unknownKind(text, discovered);
  if (others.length === 0) return first;
  const core = found.find(({ group }) => group === "");
  if (core) return core;
  const names = found.map(({ plural, group }) => `${plural}.${group}`);
  throw new CliError(`${text} is ambiguous: the server has ${names.join(" and ")}; name one of them`, EXIT.misuse);
}

/** A short name counts only if no kind has it as its full name. */
function matches(text: string, resources: readonly Resource[]): readonly Resource[] {
  const [name = "", ...rest] = text.toLowerCase().split(".");
  const suffix = rest.join(".");
  const inGroup = suffix === "" ? resources : resources.flatMap((resource) => groupMatch(suffix, resource) ?? []);
  const full = inGroup.filter(({ plural, singular, kind }) => [plural, singular, kind.toLowerCase()].includes(name));
  return full.length > 0 ? full : inGroup.filter(({ shortNames }) => shortNames.includes(name));
}

/** `openpe.openperouter.github.io`, its beginning, or `v1alpha1.openpe.openperouter.github.io`. */
function groupMatch(suffix: string, resource: Resource): Resource | undefined {
  const { group, versions } = resource;
  if (group === suffix || group.startsWith(`${suffix}.`)) return resource;
  const version = versions.find((one) => `${one}.${group}` === suffix);
  return version === undefined ? undefined : { ...resource, version };
}

function unknownKind(text: string, { resources, stale }: Discovered): CliError {
  const names = resources.flatMap(({ plural, singular, kind, shortNames }) => [singular || kind.toLowerCase(), plural, ...shortNames]);
  const suggestion = didYouMean(text, names);
  if (stale.length > 0 && suggestion === "") {
    const why = `it may be in ${stale.join(", ")}, which is unavailable`;
    return new CliError(`The server has no kind ${text} in its current discovery; ${why}`, EXIT.unknown);
  }
  return new CliError(`The server has no kind ${text}${suggestion}`, EXIT.misuse);
}

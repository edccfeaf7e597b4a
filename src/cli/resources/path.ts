import type { Kind } from "../../api/kind.ts";

export function pathOf(
  { group, version, plural, scope }: Kind,
  { namespace, name }: { namespace?: string | undefined; name?: string } = {},
): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const within = scope === "Namespaced" && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${within}/${plural}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}

import type { Link } from "./snapshot.ts";

const MARK = "plumbline:";
/**
 * Set when a link is created; its alias can only be set afterwards. Without it, a link whose creator was killed in between would have no
 * owner.
 */
export const GROUP = "7017";

type Marked = Pick<Link, "alias"> & Partial<Pick<Link, "group">>;

/** `created` may be changed and deleted; `moved` must be moved back. */
export function linkOwnership(link: Marked): "created" | "moved" | "foreign" {
  if (link.alias.startsWith(MARK)) return MOVED.test(link.alias) ? "moved" : "created";
  return link.alias === "" && link.group === GROUP ? "created" : "foreign";
}

export function createdAlias(owner: string): string {
  return MARK + owner.slice(0, LONGEST_OWNER);
}

const MOVED = / moved(?: was (.*))?$/;
const LONGEST_ALIAS = 255;
/** Names may be as long as an alias, which contains more than a name. */
const LONGEST_OWNER = 128;

/** Includes the interface's original alias. */
export function movedAlias(owner: string, link: Marked): string {
  const alias = `${createdAlias(owner)} moved`;
  const own = linkOwnership(link) === "moved" ? aliasBefore(link) : link.alias;
  return own === "" ? alias : `${alias} was ${own}`.slice(0, LONGEST_ALIAS);
}

export function aliasBefore(link: Marked): string {
  return MOVED.exec(link.alias)?.[1] ?? "";
}

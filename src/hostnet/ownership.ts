import type { Link } from "./snapshot.ts";

const MARK = "plumbline:";
/** Given to a link as it is created; its alias can only come after. Without it, a link whose creator was killed in between would have no owner. */
export const GROUP = "7017";

type Marked = Pick<Link, "alias"> & Partial<Pick<Link, "group">>;

/** Whether we created it, so that it may be altered and deleted; or moved it here, so that it must be moved back. */
export function linkOwnership(link: Marked): "created" | "moved" | "foreign" {
  if (link.alias.startsWith(MARK)) return MOVED.test(link.alias) ? "moved" : "created";
  return link.alias === "" && link.group === GROUP ? "created" : "foreign";
}

export function createdAlias(owner: string): string {
  return MARK + owner.slice(0, LONGEST_OWNER);
}

const MOVED = / moved(?: was (.*))?$/;
const LONGEST_ALIAS = 255;
/** Names may be as long as an alias, which must hold more than a name. */
const LONGEST_OWNER = 128;

/** A moved interface's own alias is kept in ours. */
export function movedAlias(owner: string, link: Marked): string {
  const alias = `${createdAlias(owner)} moved`;
  const own = linkOwnership(link) === "moved" ? aliasBefore(link) : link.alias;
  return own === "" ? alias : `${alias} was ${own}`.slice(0, LONGEST_ALIAS);
}

export function aliasBefore(link: Marked): string {
  return MOVED.exec(link.alias)?.[1] ?? "";
}

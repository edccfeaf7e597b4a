import type { NetnsRole } from "./desired-link.ts";

/** One command of a plan, to be run in a namespace of the node; Open vSwitch's are the machine's. */
export interface Command {
  readonly program: "ip" | "ovs-vsctl";
  readonly netns: NetnsRole;
  readonly args: readonly string[];
  /** The link it is for. */
  readonly link: string;
  /** Links vanish or move with it: who has remembered the index of one must forget it. */
  readonly forgets?: true;
}

export const ROLES = ["host", "router"] as const;
/** So many commands are given to `ip` at once; the deadline starts again for the next batch. */
const CHUNK = 250;

export const otherNamespace = (role: NetnsRole): NetnsRole => (role === "host" ? "router" : "host");

/**
 * Commands that one program can take at once. Deletions and moves stand apart, since names mean something else afterwards; between them the host's come
 * before the router's, which is what plans allow, and saves waiting for one namespace and the other in turn.
 */
export function segments(commands: readonly Command[]): Command[][] {
  const order: Command[][] = [];
  let stretch: Command[] = [];
  const flush = () => {
    for (const netns of ROLES) {
      const own = stretch.filter((command) => command.netns === netns);
      for (let at = 0; at < own.length; at += CHUNK) order.push(own.slice(at, at + CHUNK));
    }
    stretch = [];
  };
  for (const command of commands) {
    const [first] = stretch;
    if (
      first &&
      (first.program !== command.program || first.forgets !== command.forgets || (first.forgets && first.netns !== command.netns))
    )
      flush();
    stretch.push(command);
  }
  flush();
  return order;
}

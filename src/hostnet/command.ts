import type { NetnsRole } from "./desired-link.ts";

/** One command of a plan, for one of the node's namespaces; Open vSwitch's are for the machine. */
export interface Command {
  readonly program: "ip" | "ovs-vsctl";
  readonly netns: NetnsRole;
  readonly args: readonly string[];
  readonly link: string;
  /** Names may refer to other links afterwards: cached indexes are invalid. */
  readonly forgets?: true;
}

export const ROLES = ["host", "router"] as const;
/** Commands per batch; the timeout applies to each. */
const CHUNK = 250;

export const otherNamespace = (role: NetnsRole): NetnsRole => (role === "host" ? "router" : "host");

/**
 * Groups commands that one program can take at once. Deletions and moves are separate, since names change their meaning; between them the
 * host's commands come before the router's, which plans allow and which saves switching between namespaces.
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

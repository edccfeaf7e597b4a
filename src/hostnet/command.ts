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

export const otherNamespace = (role: NetnsRole): NetnsRole => (role === "host" ? "router" : "host");

import { DEFAULT_TOPOLOGY } from "../../lab/net/topology.ts";

/** Of the lab as it comes. */
export const NODES = DEFAULT_TOPOLOGY.nodes;

import { nft } from "../../../hostnet/nft.ts";
import { watchNamespace } from "../../../hostnet/watch-links.ts";
import type { Log } from "../../../kube/log.ts";
import { NodeLinks } from "./node-links.ts";
import { Wire, type WireEvents } from "./wire/wire.ts";

/** Everything through which the announcer touches the node. */
export interface Ground {
  readonly links: Pick<NodeLinks, "look" | "carryOut" | "outlast">;
  wire(
    events: WireEvents,
  ): Pick<Wire, "run" | "fault" | "isUp" | "look" | "probe" | "check" | "leave" | "announce" | "send" | "listenTo" | "sync">;
  nft(text: string, signal: AbortSignal): Promise<void>;
  /** Rings when links or addresses change; runs until aborted. */
  watch(ring: () => void, signal: AbortSignal): Promise<void>;
}

export function groundOf(namespace: string | undefined, port: number, log: Log): Ground {
  return {
    links: new NodeLinks(namespace, log),
    wire: (events) => new Wire({ netns: namespace, port, log, ...events }),
    nft: (text, signal) => nft(text, { signal, namespace }),
    watch: (ring, signal) =>
      watchNamespace(namespace, ring, signal, (error) =>
        log.warn({ error }, "the watch of the node's links has ended and is started again"),
      ),
  };
}

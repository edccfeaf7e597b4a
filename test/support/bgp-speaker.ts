import { FrrPass } from "../../src/frr/apply.ts";
import type { Fragment } from "../../src/frr/fragment.ts";
import { originatedTag } from "../../src/frr/show.ts";
import { BgpSpeaker } from "../../src/loadbalancer/speaker/bgp/bgp-speaker.ts";
import type { FrrInNamespace } from "./frr.ts";

export interface SpeakerOnFrr {
  readonly speaker: BgpSpeaker;
  /** What it last wrote for the daemons to start with. */
  readonly boot: string;
  /** The same in the words that FRR's own script compares. */
  readonly configuration: string;
}

/** The load balancer's BGP on a running FRR. */
export function speakerOn({ instance }: FrrInNamespace, applied: readonly Fragment[] = []): SpeakerOnFrr {
  let boot = "";
  let last: FrrPass | undefined;
  const speaker = new BgpSpeaker({
    namespace: "metallb-system",
    applied,
    frr: {
      async open(fragments, signal) {
        last = await FrrPass.open(instance, fragments, signal);
        return last;
      },
      tagOf: ({ vrf, prefix }, signal) => originatedTag(instance.router, vrf, prefix, signal),
      writeBootFile: (text) => {
        boot = text;
        return Promise.resolve();
      },
    },
  });
  return {
    speaker,
    get boot() {
      return boot;
    },
    get configuration() {
      return last?.configuration ?? "";
    },
  };
}

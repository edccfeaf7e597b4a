import { FrrPass } from "../../src/frr/apply.ts";
import type { Fragment } from "../../src/frr/fragment.ts";
import { BgpSpeaker } from "../../src/loadbalancer/speaker/bgp/bgp-speaker.ts";
import type { FrrInNamespace } from "./frr.ts";

export interface SpeakerOnFrr {
  readonly speaker: BgpSpeaker;
  /** What it last wrote for the daemons to start with. */
  readonly boot: string;
}

/** The load balancer's BGP on a running FRR. */
export function speakerOn({ instance }: FrrInNamespace, applied: readonly Fragment[] = []): SpeakerOnFrr {
  let boot = "";
  const speaker = new BgpSpeaker({
    namespace: "metallb-system",
    applied,
    frr: {
      open: (fragments, signal) => FrrPass.open(instance, fragments, signal),
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
  };
}

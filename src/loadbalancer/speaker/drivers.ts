import type { Fragment } from "../../frr/fragment.ts";
import type { Address } from "../../ip/address.ts";
import type { AddressState, Protection } from "../status/service-l2-status.ts";
import type { WantedAddress } from "./announcements.ts";
import type { BgpSpeaker } from "./bgp/bgp-speaker.ts";
import type { SpokenSession } from "./bgp/sessions.ts";
import type { Heartbeats } from "./l2/heartbeats.ts";

/** What carries the speaker's decisions out, and tells how it stands. */
export interface Drivers {
  /** `applied` is what an earlier run had FRR take. */
  bgp(applied: readonly Fragment[]): BgpDriver;
  readonly l2: L2Driver;
  /** What FRR last said of its sessions; undefined while it does not answer. */
  sessions(): readonly SpokenSession[] | undefined;
  /** FRR has these neighbours no more, each as its VRF and name. */
  forgetSessions(gone: ReadonlySet<string>): void;
}

export type BgpDriver = Pick<BgpSpeaker, "apply" | "applied" | "refusals" | "settled">;

interface L2Driver {
  set(wanted: readonly WantedAddress[]): void;
  state(address: Address): AddressState;
  readonly candidates: Pick<Heartbeats, "eligible" | "strangers" | "remember" | "pulses">;
  protection(): Protection;
}

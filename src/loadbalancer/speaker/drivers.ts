import type { Fragment } from "../../frr/fragment.ts";
import type { Address } from "../../ip/address.ts";
import type { AddressState, FilterStatus } from "../status/service-l2-status.ts";
import type { WantedAddress } from "./announcements.ts";
import type { BgpSpeaker } from "./bgp/bgp-speaker.ts";
import type { WantedPrefixes } from "./bgp/sent-prefixes.ts";
import type { SessionState } from "./bgp/sessions.ts";
import type { Heartbeats } from "./l2/heartbeats.ts";

export interface SpeakerBackends {
  /** `applied`: the configuration of an earlier run. */
  bgp(applied: readonly Fragment[]): BgpDriver;
  readonly l2: L2Driver;
  /** The last session states from FRR; undefined while it does not answer. */
  sessions(): readonly SessionState[] | undefined;
  /** What the sessions should send from now on. */
  wantPrefixes(wanted: WantedPrefixes): void;
  /** VRFs with interfaces that bgpd has lost: their instances are created again. */
  takeLostVrfs(): ReadonlySet<string>;
  /** Neighbors that FRR no longer has, each as its VRF and name. */
  forgetSessions(gone: ReadonlySet<string>): void;
}

export type BgpDriver = Pick<BgpSpeaker, "apply" | "applied" | "wanted" | "rejections" | "bootFileWritten">;

interface L2Driver {
  set(wanted: readonly WantedAddress[]): void;
  state(address: Address): AddressState;
  readonly candidates: Pick<Heartbeats, "eligible" | "strangers" | "remember" | "pulses">;
  protection(): FilterStatus;
  lostLinks(): readonly string[];
}

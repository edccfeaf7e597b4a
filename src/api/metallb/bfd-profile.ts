import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

const interval = (doc: string) => s.optional(s.int({ doc: `${doc} In milliseconds.`, minimum: 10, maximum: 60_000 }));

export const BFDProfile = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "BFDProfile",
  plural: "bfdprofiles",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "BFD settings for the sessions of the BGPPeers that name it. Unset fields use FRR's defaults.",
  columns: [
    { name: "Passive Mode", path: ".spec.passiveMode", type: "boolean", doc: "Whether to wait for the peer's first packet." },
    { name: "Transmit Interval", path: ".spec.transmitInterval", type: "integer", doc: "Milliseconds between packets sent." },
    {
      name: "Receive Interval",
      path: ".spec.receiveInterval",
      type: "integer",
      doc: "Minimum milliseconds between packets from the peer.",
    },
    { name: "Multiplier", path: ".spec.detectMultiplier", type: "integer", doc: "Missed packets before the session is down." },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  spec: s.default(
    s.object(
      {
        receiveInterval: interval("The minimum interval at which control packets can be received. Defaults to 300."),
        transmitInterval: interval("The minimum interval at which control packets are sent. Defaults to 300."),
        detectMultiplier: s.optional(
          s.int({ doc: "The number of missed packets before the session is down. Defaults to 3.", minimum: 2, maximum: 255 }),
        ),
        echoInterval: interval("The minimum interval for echo packets. Defaults to 50."),
        echoMode: s.optional(s.bool({ doc: "Whether echo packets are sent. Not supported for peers that get IPv6 prefixes." })),
        passiveMode: s.optional(s.bool({ doc: "Whether to wait for the peer's first packet before sending any." })),
        minimumTtl: s.optional(
          s.int({ doc: "The minimum TTL of an incoming packet, for a multi-hop peer. Defaults to 254.", minimum: 1, maximum: 254 }),
        ),
      },
      { doc: "The desired state." },
    ),
    {},
  ),
  status: s.object({}, { doc: "Empty: see the ConfigurationState of each node." }),
});
export type BFDProfile = Stored<typeof BFDProfile>;

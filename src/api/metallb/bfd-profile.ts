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
  doc: "How BFD watches the sessions of the BGPPeers that name it. What is not given is as FRR has it.",
  columns: [
    { name: "Passive Mode", path: ".spec.passiveMode", type: "boolean", doc: "Whether the peer speaks first." },
    { name: "Transmit Interval", path: ".spec.transmitInterval", type: "integer", doc: "Milliseconds between two packets." },
    {
      name: "Receive Interval",
      path: ".spec.receiveInterval",
      type: "integer",
      doc: "Milliseconds at least between two packets of the peer.",
    },
    { name: "Multiplier", path: ".spec.detectMultiplier", type: "integer", doc: "How many packets may be missed." },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.default(
    s.object(
      {
        receiveInterval: interval("The shortest interval at which control packets can be received. 300 unless given."),
        transmitInterval: interval("The shortest interval at which control packets are sent. 300 unless given."),
        detectMultiplier: s.optional(
          s.int({ doc: "How many packets may be missed before the session is down. 3 unless given.", minimum: 2, maximum: 255 }),
        ),
        echoInterval: interval("The shortest interval at which echo packets are handled. 50 unless given."),
        echoMode: s.optional(s.bool({ doc: "Whether echo packets are sent. Not for sessions over which IPv6 prefixes go." })),
        passiveMode: s.optional(s.bool({ doc: "Whether to wait for the peer's first packet before sending any." })),
        minimumTtl: s.optional(
          s.int({ doc: "The lowest TTL of an incoming packet, for a peer several hops away. 254 unless given.", minimum: 1, maximum: 254 }),
        ),
      },
      { doc: "What is wanted." },
    ),
    {},
  ),
  status: s.object({}, { doc: "Empty: what became of it stands in the ConfigurationState of each node." }),
});
export type BFDProfile = Stored<typeof BFDProfile>;

import type { ConfigLine } from "./fragment.ts";

interface BfdSettings {
  readonly receiveInterval?: number;
  readonly transmitInterval?: number;
  readonly detectMultiplier?: number;
  readonly echoInterval?: number;
  readonly echoMode?: boolean;
  readonly passiveMode?: boolean;
  readonly minimumTtl?: number;
}

/** The lines in the context `bfd`. FRR does not show defaults. */
export function profileLine(name: string, settings: BfdSettings): ConfigLine {
  const lines = [
    ...numbered("detect-multiplier", settings.detectMultiplier, 3),
    ...numbered("transmit-interval", settings.transmitInterval, 300),
    ...numbered("receive-interval", settings.receiveInterval, 300),
    ...(settings.passiveMode ? ["passive-mode"] : []),
    ...(settings.echoMode ? ["echo-mode"] : []),
    ...numbered("echo transmit-interval", settings.echoInterval, 50),
    ...numbered("echo receive-interval", settings.echoInterval, 50),
    ...numbered("minimum-ttl", settings.minimumTtl, 254),
  ];
  return { line: `profile ${name}`, inside: lines.map((line) => ({ line })) };
}

function numbered(name: string, value: number | undefined, hidden: number): string[] {
  return value === undefined || value === hidden ? [] : [`${name} ${value}`];
}

import { type Command, InvalidArgumentError } from "commander";

const LOG_LEVELS = ["error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function withLogLevel(command: Command): Command {
  return command.option("--log-level <level>", LOG_LEVELS.join(", "), oneOf(LOG_LEVELS), "info");
}

export function oneOf<T extends string>(values: readonly T[]): (text: string) => T {
  return (text) => {
    const value = values.find((value) => value === text);
    if (value === undefined) throw new InvalidArgumentError(`Must be one of ${values.join(", ")}.`);
    return value;
  };
}

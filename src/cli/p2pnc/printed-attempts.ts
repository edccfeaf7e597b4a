import type { Attempt } from "../../connectivity/history/attempt.ts";
import { durationText } from "../../connectivity/history/duration.ts";
import { isSuccess } from "../../connectivity/history/history.ts";
import { type TextCell, Columns, stripControlCharacters } from "../print/columns.ts";
import { itemsLine, itemsText } from "../print/items.ts";
import type { Color, Colorize } from "../print/color.ts";
import { EXIT } from "../shared/exit.ts";

export interface PrintedAttempt {
  readonly attempt: Attempt;
  readonly check?: string;
}

const KIND = "ConnectivityAttempt";
const HEAD = ["TARGET", "REACHABLE", "LATENCY", "MESSAGE"];

export class AttemptTable {
  readonly #columns: Columns;

  constructor(colorize: Colorize) {
    this.#columns = new Columns(colorize);
  }

  lines(tried: readonly PrintedAttempt[], { head }: { head: boolean }): string[] {
    const named = tried.some(({ check }) => check !== undefined);
    const header = [...(named ? ["CHECK"] : []), ...HEAD].map((text): TextCell => ({ text }));
    return this.#columns.lines([
      ...(head ? [header] : []),
      ...tried.map((one) => [...(named ? [{ text: one.check ?? "" }] : []), ...cells(one)]),
    ]);
  }
}

export function attemptsText(tried: readonly PrintedAttempt[]): string {
  return itemsText(KIND, tried.map(itemOf));
}

export function attemptLine(tried: PrintedAttempt): string {
  return itemsLine(KIND, [itemOf(tried)]);
}

/** Unreachable is an answer; a probe that could not run is not. */
export function exitCodeOf(attempts: Iterable<Attempt>): number {
  const all = [...attempts];
  if (all.some(({ fault, reachable }) => fault === undefined && !reachable)) return EXIT.no;
  return all.some(({ fault }) => fault !== undefined) ? EXIT.unknown : EXIT.fine;
}

function cells({ attempt }: PrintedAttempt): TextCell[] {
  const { target, reachable, actions, fault } = attempt;
  const [verdict, color]: [string, Color] = fault !== undefined ? ["Unknown", "yellow"] : reachable ? ["True", "green"] : ["False", "red"];
  const decisive = actions.findLast((action) => isSuccess(action) === reachable);
  return [
    { text: target },
    { text: verdict, color },
    { text: decisive ? durationText(Math.round(decisive.latencyMs * 10) / 10) : "" },
    { text: stripControlCharacters(fault ?? decisive?.message ?? "") },
  ];
}

function itemOf({ attempt, check }: PrintedAttempt): object {
  const { target, at, reachable, actions, fault } = attempt;
  return {
    ...(check !== undefined && { check }),
    target,
    time: new Date(at).toISOString(),
    reachable: fault === undefined ? reachable : null,
    ...(fault !== undefined && { fault }),
    actions: actions.map((action) => ({
      time: new Date(action.at).toISOString(),
      success: isSuccess(action),
      reason: action.outcome,
      message: action.message,
      latency: durationText(action.latencyMs),
    })),
  };
}

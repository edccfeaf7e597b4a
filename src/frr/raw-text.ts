import { merge, print } from "./config.ts";
import { changes } from "./diff.ts";
import { describe } from "./entry.ts";
import type { Fragment } from "./fragment.ts";
import { isBuiltInLine } from "./grammar.ts";
import { lineTexts, NO_CHANGE, type FragmentOutcome, type RunningState } from "./running-state.ts";

/** Raw text is applied by FRR's own script as a whole, and its lines have one owner. */
export const RAW = "RawFRRConfig";

/** MetalLB's ConfigMap with raw lines for FRR. */
export const EXTRAS = "ConfigMap/bgpextras";

export function isRaw({ owner }: Pick<Fragment, "owner">): boolean {
  return owner.startsWith(`${RAW}/`) || owner === EXTRAS;
}

export function rawsAmong(fragments: ReadonlyMap<string, Fragment>): Fragment[] {
  return [...fragments.values()].filter(isRaw);
}

export function rawText(fragments: ReadonlyMap<string, Fragment>): string {
  return print(merge(rawsAmong(fragments)));
}

/** Sets or removes one owner's text. If FRR rejects it, nothing changes. */
export async function putRaw(running: RunningState, owner: string, fragment: Fragment | undefined): Promise<FragmentOutcome> {
  const { fragments } = running.memory;
  const put = (fragment: Fragment | undefined) => (fragment ? fragments.set(owner, fragment) : fragments.delete(owner));
  const before = fragments.get(owner);
  put(fragment);
  const outcome = await applyRaw(running);
  if (outcome.rejected) put(before);
  return outcome;
}

async function applyRaw(running: RunningState): Promise<FragmentOutcome> {
  const { memory } = running;
  const { desired, fragments, appliedRaw } = memory;
  const text = rawText(fragments);
  const entries =
    appliedRaw?.text === text ? appliedRaw.entries : memory.dialect.entries({ owner: RAW, lines: merge(rawsAmong(fragments)) });
  const keys = new Set(entries.map(({ key }) => key));
  const areThere = entries.every((entry) => running.have.has(entry));
  if (areThere && desired.of(RAW).every(({ key }) => keys.has(key)) && (appliedRaw || entries.length)) {
    desired.set(RAW, entries);
    memory.appliedRaw = { text, entries };
    return NO_CHANGE;
  }

  const before = running.have;
  const rejection = await running.reload();
  const raw = desired.of(RAW);
  desired.set(RAW, []);
  const lost = desired.find((entry) => before.has(entry) && !running.have.has(entry));
  const problem = rejection ?? (lost && `it removes configuration that other resources need: ${describe(lost)}`);
  if (problem === undefined) {
    const entries = running.compare().stray;
    desired.set(RAW, entries);
    memory.appliedRaw = { text, entries };
    const lines = lineTexts(entries.filter((entry) => !before.has(entry)));
    return { sent: lines.length, lines };
  }
  desired.set(RAW, raw);
  const back = await running.send(
    changes(running.have, {
      remove: running.have.filter((entry) => !before.has(entry) && !isBuiltInLine(entry.path, entry.line)),
      add: desired.filter((entry) => before.has(entry)),
      wanted: (entry) => before.has(entry),
    }),
  );
  return { sent: back.sent, lines: back.lines, rejected: { line: "", daemon: "vtysh", text: problem } };
}

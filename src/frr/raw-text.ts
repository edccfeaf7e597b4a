import { merge, print } from "./config.ts";
import { changes } from "./diff.ts";
import { describe } from "./entry.ts";
import type { Fragment } from "./fragment.ts";
import { isBuiltInLine } from "./grammar.ts";
import { lineTexts, NO_CHANGE, type FragmentOutcome, type RunningState } from "./running-state.ts";

/** Free text is FRR's own script's to bring in, all of it at once, and FRR's to put into words: its lines have one owner. */
export const RAW = "RawFRRConfig";

/** MetalLB's ConfigMap of lines for FRR as they are. */
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

/** Puts one owner's text in, or takes it away. What FRR rejects leaves everything as it was. */
export async function putRaw(standing: RunningState, owner: string, fragment: Fragment | undefined): Promise<FragmentOutcome> {
  const { fragments } = standing.memory;
  const put = (fragment: Fragment | undefined) => (fragment ? fragments.set(owner, fragment) : fragments.delete(owner));
  const before = fragments.get(owner);
  put(fragment);
  const outcome = await settle(standing);
  if (outcome.refused) put(before);
  return outcome;
}

async function settle(standing: RunningState): Promise<FragmentOutcome> {
  const { memory } = standing;
  const { asked, fragments, settled } = memory;
  const text = rawText(fragments);
  const entries = settled?.text === text ? settled.entries : memory.dialect.entries({ owner: RAW, lines: merge(rawsAmong(fragments)) });
  const keys = new Set(entries.map(({ key }) => key));
  const areThere = entries.every((entry) => standing.have.has(entry));
  if (areThere && asked.of(RAW).every(({ key }) => keys.has(key)) && (settled || entries.length)) {
    asked.set(RAW, entries);
    memory.settled = { text, entries };
    return NO_CHANGE;
  }

  const before = standing.have;
  const rejection = await standing.reload();
  const raw = asked.of(RAW);
  asked.set(RAW, []);
  const lost = asked.find((entry) => before.has(entry) && !standing.have.has(entry));
  const words = rejection ?? (lost && `it removes configuration that other resources need: ${describe(lost)}`);
  if (words === undefined) {
    const entries = standing.compare().stray;
    asked.set(RAW, entries);
    memory.settled = { text, entries };
    const lines = lineTexts(entries.filter((entry) => !before.has(entry)));
    return { sent: lines.length, lines };
  }
  asked.set(RAW, raw);
  const back = await standing.send(
    changes(standing.have, {
      remove: standing.have.filter((entry) => !before.has(entry) && !isBuiltInLine(entry.path, entry.line)),
      add: asked.filter((entry) => before.has(entry)),
      wanted: (entry) => before.has(entry),
    }),
  );
  return { sent: back.sent, lines: back.lines, refused: { line: "", daemon: "vtysh", words } };
}

import { merge, print } from "../../../frr/config.ts";
import type { Fragment } from "../../../frr/fragment.ts";

/**
 * What the daemons are given when they start. Services come last and are not merged with the rest: of ten thousand that would take longer than to tell FRR of the one
 * that is new.
 */
export function bootText(fragments: Iterable<Fragment>, services: Iterable<Fragment>): string {
  const networks = new Map<string, string[]>();
  for (const fragment of services) {
    for (const { place, lines } of textOf(fragment)) {
      const known = networks.get(place);
      if (known) known.push(lines);
      else networks.set(place, [lines]);
    }
  }
  const blocks = Array.from(networks, ([place, lines]) => `${place}${lines.join("")} exit-address-family\nexit\n!\n`);
  return print(merge([...fragments])) + blocks.join("");
}

interface PlacedLines {
  readonly place: string;
  readonly lines: string;
}

const texts = new WeakMap<Fragment, readonly PlacedLines[]>();

function textOf(fragment: Fragment): readonly PlacedLines[] {
  let text = texts.get(fragment);
  if (!text) {
    text = fragment.lines.flatMap(({ line: instance, inside: families = [] }) =>
      families.map(({ line: family, inside = [] }) => ({
        place: `${instance}\n ${family}\n`,
        lines: inside.map(({ line }) => `  ${line}\n`).join(""),
      })),
    );
    texts.set(fragment, text);
  }
  return text;
}

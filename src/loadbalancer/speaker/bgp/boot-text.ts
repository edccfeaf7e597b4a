import { merge, print } from "../../../frr/config.ts";
import type { Fragment } from "../../../frr/fragment.ts";

/**
 * What the daemons are given when they start. Services come last and are not merged with the rest: of ten thousand that would take longer than to tell FRR of the one
 * that is new.
 */
export function bootText(fragments: Iterable<Fragment>, services: Iterable<Fragment>): string {
  const networks = new Map<string, string[]>();
  for (const { lines } of services) {
    for (const { line: instance, inside: families = [] } of lines) {
      for (const { line: family, inside = [] } of families) {
        const place = `${instance}\n ${family}\n`;
        const known = networks.get(place) ?? [];
        if (known.length === 0) networks.set(place, known);
        for (const { line } of inside) known.push(`  ${line}\n`);
      }
    }
  }
  const blocks = Array.from(networks, ([place, lines]) => `${place}${lines.join("")} exit-address-family\nexit\n!\n`);
  return print(merge([...fragments])) + blocks.join("");
}

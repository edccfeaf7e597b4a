import { merge, print } from "../../../frr/config.ts";
import type { ConfigLine, Fragment } from "../../../frr/fragment.ts";

/** Lines of a file, with their contexts. */
export interface ContextLines {
  readonly context: string;
  readonly text: string;
}

export function contextLines(instances: readonly ConfigLine[]): ContextLines[] {
  return instances.flatMap(({ line: instance, inside: families = [] }) =>
    families.map(({ line: family, inside = [] }) => ({
      context: `${instance}\n ${family}\n`,
      text: inside.map(({ line }) => `  ${line}\n`).join(""),
    })),
  );
}

/**
 * The start configuration. Services come last and are not merged with the rest: for ten thousand that would take longer than configuring
 * the new one.
 */
export function bootText(fragments: Iterable<Fragment>, services: Iterable<{ readonly boot: readonly ContextLines[] }>): string {
  const networks = new Map<string, string[]>();
  for (const { boot } of services) {
    for (const { context, text } of boot) {
      const known = networks.get(context);
      if (known) known.push(text);
      else networks.set(context, [text]);
    }
  }
  const blocks = Array.from(networks, ([context, texts]) => `${context}${texts.join("")} exit-address-family\nexit\n!\n`);
  return print(merge([...fragments])) + blocks.join("");
}

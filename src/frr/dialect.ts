import { ConfigSet, type Block } from "./config-set.ts";
import { parse, print } from "./config.ts";
import { daemonsOf, ownersOf } from "./daemons.ts";
import { entriesOf, type Entry } from "./entry.ts";
import type { ConfigLine, Fragment } from "./fragment.ts";
import type { FrrRouter, FrrVersion } from "./router.ts";

/** How the configuration is spread over the daemons of one version, and what that version prints. Remembers what it read last: little of it is new the next time. */
export class Dialect {
  readonly daemons: readonly string[];
  readonly #major: number;
  readonly #owners: (top: string) => readonly string[];
  readonly #read = new Map<string, { text: string; blocks: ReadonlyMap<string, Block> }>();
  readonly #fragments = new WeakMap<Fragment, readonly Entry[]>();

  constructor(version: Pick<FrrVersion, "major">) {
    this.#major = version.major;
    this.daemons = daemonsOf(version);
    this.#owners = ownersOf(version);
  }

  /** The lines that the daemons have when all of this is configured. */
  entries(fragment: Fragment): readonly Entry[] {
    const known = this.#fragments.get(fragment);
    if (known) return known;
    const entries = entriesOf(fragment.lines, (top) => (this.#isUnsaid(top) ? [] : this.#owners(top)));
    this.#fragments.set(fragment, entries);
    return entries;
  }

  /** Whether the line is this daemon's to have, and not one that it merely has as well. */
  owns({ daemon, path, line }: Entry): boolean {
    return this.#owners(path[0] ?? line).includes(daemon);
  }

  /** As `vtysh -c "show running-config"` has it. frr-reload.py compares letter by letter. */
  text(lines: readonly ConfigLine[]): string {
    return print(this.#said(lines.filter(({ line }) => !this.#isUnsaid(line))));
  }

  async read(router: FrrRouter, signal: AbortSignal): Promise<ConfigSet> {
    const texts = await Promise.all(this.daemons.map((daemon) => router.runningConfig(daemon, signal)));
    return ConfigSet.ofBlocks(texts.flatMap((text, index) => this.#understood(this.daemons[index] as string, text)));
  }

  #understood(daemon: string, text: string): Block[] {
    const before = this.#read.get(daemon);
    if (before?.text === text) return [...before.blocks.values()];
    const blocks = new Map<string, Block>();
    for (const printed of blocksOf(text)) {
      const block = before?.blocks.get(printed) ?? new Map(entriesOf(parse(printed), () => [daemon]).map((entry) => [entry.key, entry]));
      blocks.set(printed, block);
    }
    this.#read.set(daemon, { text, blocks });
    return [...blocks.values()];
  }

  /** On without being said: to ask for it is to ask for nothing. */
  #isUnsaid(top: string): boolean {
    return this.#major >= 10 && /^(ip|ipv6) nht resolve-via-default$/.test(top);
  }

  #said(lines: readonly ConfigLine[]): ConfigLine[] {
    return lines.map(({ line, inside }) => {
      const said = this.#major >= 10 ? line.replace(/^(neighbor \S+ ebgp-multihop) 255$/, "$1") : line;
      return inside ? { line: said, inside: this.#said(inside) } : { line: said };
    });
  }
}

/** What a daemon prints, cut before each line of the top level. */
function blocksOf(text: string): string[] {
  return text.split(/\n(?=[^ !\n])(?!exit)/);
}

import { ConfigSet, type Block } from "./config-set.ts";
import { parse, print } from "./config.ts";
import { daemonsOf, ownersOf } from "./daemons.ts";
import { entriesOf, type ConfigEntry } from "./entry.ts";
import type { ConfigLine, Fragment } from "./fragment.ts";
import type { FrrClient, FrrVersion } from "./client.ts";

/** How one version distributes the configuration over its daemons, and what it prints. Caches the last read, of which little changes. */
export class VersionFormat {
  readonly daemons: readonly string[];
  readonly #major: number;
  readonly #owners: (top: string) => readonly string[];
  readonly #read = new Map<string, { text: string; printed: readonly string[]; blocks: readonly Block[] }>();
  readonly #fragments = new WeakMap<Fragment, readonly ConfigEntry[]>();

  constructor(version: Pick<FrrVersion, "major">) {
    this.#major = version.major;
    this.daemons = daemonsOf(version);
    this.#owners = ownersOf(version);
  }

  /** The lines that the daemons have with this fragment. */
  entries(fragment: Fragment): readonly ConfigEntry[] {
    const known = this.#fragments.get(fragment);
    if (known) return known;
    const entries = entriesOf(fragment.lines, (top) => (this.#isHidden(top) ? [] : this.#owners(top)));
    this.#fragments.set(fragment, entries);
    return entries;
  }

  /** Whether the line belongs to this daemon; others may have it too. */
  owns({ daemon, path, line }: ConfigEntry): boolean {
    return this.#owners(path[0] ?? line).includes(daemon);
  }

  /** As `vtysh -c "show running-config"`. frr-reload.py compares exactly. */
  text(lines: readonly ConfigLine[]): string {
    return print(this.#asPrinted(lines.filter(({ line }) => !this.#isHidden(line))));
  }

  async read(router: FrrClient, signal: AbortSignal): Promise<ConfigSet> {
    const texts = await Promise.all(this.daemons.map((daemon) => router.runningConfig(daemon, signal)));
    return ConfigSet.ofBlocks(texts.flatMap((text, index) => this.#understood(this.daemons[index] as string, text)));
  }

  #understood(daemon: string, text: string): readonly Block[] {
    const before = this.#read.get(daemon);
    if (before?.text === text) return before.blocks;
    const printed = blocksOf(text);
    const find = lookupIn(before?.printed ?? []);
    const blocks = printed.map((one): Block => {
      const known = find(one);
      return (
        (known === undefined ? undefined : before?.blocks[known]) ??
        new Map(entriesOf(parse(one), () => [daemon]).map((entry) => [entry.key, entry]))
      );
    });
    this.#read.set(daemon, { text, printed, blocks });
    return blocks;
  }

  /** A default that FRR does not print. */
  #isHidden(top: string): boolean {
    return this.#major >= 10 && /^(ip|ipv6) nht resolve-via-default$/.test(top);
  }

  #asPrinted(lines: readonly ConfigLine[]): ConfigLine[] {
    return lines.map(({ line, inside }) => {
      const printed =
        this.#major >= 10
          ? line.replace(/^(neighbor \S+ ebgp-multihop) 255$/, "$1")
          : line.replace(/^(set community) 0:0\b/, "$1 internet");
      return inside ? { line: printed, inside: this.#asPrinted(inside) } : { line: printed };
    });
  }
}

/** The output of a daemon, split at top-level lines. */
function blocksOf(text: string): string[] {
  return text.split(/\n(?=[^ !\n])(?!exit)/);
}

/** The index of a block in the last read. Most blocks keep their order, so few are searched for. */
function lookupIn(before: readonly string[]): (block: string) => number | undefined {
  let at = 0;
  let missed = false;
  let index: ReadonlyMap<string, number> | undefined;
  return (block) => {
    let found = before[at] === block ? at : before[at + 1] === block ? at + 1 : undefined;
    if (found === undefined && missed) {
      index ??= new Map(before.map((block, at) => [block, at]));
      found = index.get(block);
    }
    missed = found === undefined;
    if (found !== undefined) at = found + 1;
    return found;
  };
}

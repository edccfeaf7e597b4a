import { Asked } from "./asked.ts";
import { Dialect } from "./dialect.ts";
import type { Entry } from "./entry.ts";
import type { ConfigLine, Fragment } from "./fragment.ts";
import type { FrrInstance } from "./instance.ts";
import type { FrrVersion } from "./router.ts";

const memories = new WeakMap<FrrInstance, Memory>();

/** What one pass knows at its end, and the next one need not work out again. All of it can be had anew. */
export class Memory {
  readonly dialect: Dialect;
  readonly asked = new Asked();
  readonly fragments = new Map<string, Fragment>();
  /** What FRR made of free text. */
  settled: { readonly text: string; readonly entries: readonly Entry[] } | undefined;
  readonly #version: string;

  private constructor(version: FrrVersion) {
    this.#version = version.text;
    this.dialect = new Dialect(version);
  }

  /** A pass that breaks off gives nothing back: what it knew may be wrong by then. */
  static take(instance: FrrInstance, version: FrrVersion): Memory {
    const memory = memories.get(instance);
    memories.delete(instance);
    return memory && memory.#version === version.text ? memory : new Memory(version);
  }

  keepFor(instance: FrrInstance): void {
    memories.set(instance, this);
  }

  /** The fragment, or its equal that is known already. */
  known(fragment: Fragment): Fragment {
    const known = this.fragments.get(fragment.owner);
    return known && areSame(known.lines, fragment.lines) ? known : fragment;
  }

  forgetOthers(owners: ReadonlySet<string>): void {
    for (const owner of this.fragments.keys()) {
      if (owners.has(owner)) continue;
      this.fragments.delete(owner);
      this.asked.set(owner, []);
    }
  }
}

function areSame(these: readonly ConfigLine[], those: readonly ConfigLine[]): boolean {
  if (these === those) return true;
  if (these.length !== those.length) return false;
  return these.every(({ line, inside }, at) => {
    const other = those[at];
    if (line !== other?.line) return false;
    return inside && other.inside ? areSame(inside, other.inside) : inside === other.inside;
  });
}

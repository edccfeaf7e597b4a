/** Exactly as `show running-config` prints it (without its indent), and the lines inside its context. */
export interface ConfigLine {
  readonly line: string;
  /** Present for a context such as `router bgp 64514`, even when it is empty. */
  readonly inside?: readonly ConfigLine[];
}

/** The lines of one resource. Fragments may share contexts and lines; a line is removed with its last owner. */
export interface Fragment {
  readonly owner: string;
  readonly lines: readonly ConfigLine[];
}

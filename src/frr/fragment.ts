/** One line of FRR's configuration, exactly as `show running-config` prints it (without its indent), and the lines inside its context. */
export interface ConfigLine {
  readonly line: string;
  /** Present for a context such as `router bgp 64514`, even when it is empty. */
  readonly inside?: readonly ConfigLine[];
}

/** What one resource asks of FRR. Several fragments may share contexts and lines; a line goes when the last that asks for it goes. */
export interface Fragment {
  /** The resource, as `L3VNI/red`. */
  readonly owner: string;
  readonly lines: readonly ConfigLine[];
}

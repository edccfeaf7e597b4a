/**
 * What the controller last told in an object of its own. One that is gone, or that a person broke, tells nothing: what was known holds until the controller
 * puts it right.
 */
export class LastKnown<T> {
  readonly #read: () => T | undefined;
  #known: T | undefined;

  constructor(read: () => T | undefined) {
    this.#read = read;
  }

  /** Undefined as long as nothing was ever told. */
  get value(): T | undefined {
    this.#known = this.#read() ?? this.#known;
    return this.#known;
  }
}

import type { StoredObject } from "../kinds/served-kind.ts";

/** An object at one revision. Its JSON is rendered once, for the disk, responses and watches. */
export class StoreEntry {
  readonly object: StoredObject;
  readonly revision: number;
  #json: Buffer | undefined;

  constructor(object: StoredObject, revision: number) {
    this.object = object;
    this.revision = revision;
  }

  get json(): Buffer {
    this.#json ??= Buffer.from(JSON.stringify(this.object));
    return this.#json;
  }

  /** The same object with a later revision, for a deletion event. */
  at(revision: number): StoreEntry {
    const metadata = { ...this.object.metadata, resourceVersion: String(revision) };
    return new StoreEntry({ ...this.object, metadata }, revision);
  }
}

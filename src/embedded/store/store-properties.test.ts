import * as fc from "fast-check";
import { expect, test } from "vitest";
import { keyOf } from "../../api/kind.ts";
import { ApiError } from "./api-error.ts";
import type { StoredObject } from "../kinds/served-kind.ts";
import type { StoreChange } from "./history.ts";
import { kindNamed, l3vni, newStore, withMetadata } from "../testing/fixtures.ts";
import { lineOf } from "./record.ts";
import { recover } from "./recovery.ts";
import type { Store } from "./store.ts";

const vnis = kindNamed("L3VNI");

type Act = { name: string } & (
  | { do: "create"; vni: number; finalizer: boolean }
  | { do: "edit"; vni: number }
  | { do: "status"; claim: number }
  | { do: "release" }
  | { do: "delete"; stale: boolean }
);

const name = fc.constantFrom("a", "b", "c");
/** Sometimes not what the schema allows. */
const vni = fc.integer({ min: 0, max: 4 });
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("create" as const), name, vni, finalizer: fc.boolean() }),
    fc.record({ do: fc.constant("edit" as const), name, vni }),
    fc.record({ do: fc.constant("status" as const), name, claim: vni }),
    fc.record({ do: fc.constant("release" as const), name }),
    fc.record({ do: fc.constant("delete" as const), name, stale: fc.boolean() }),
  ),
  { maxLength: 40 },
);

const claims = (at: number) => [{ claim: `vni/${at}`, since: "2026-01-01T00:00:00Z" }];

function act(store: Store, step: Act): void {
  const ref = { name: step.name, namespace: "default" };
  switch (step.do) {
    case "create":
      return void store.create(
        vnis,
        "default",
        l3vni(step.name, { vni: step.vni }, { finalizers: step.finalizer ? ["example.com/x"] : [] }),
      );
    case "edit":
      return void store.update(vnis, ref, (stored) => ({ ...stored, spec: { vrf: "red", vni: step.vni } }));
    case "status":
      return void store.update(vnis, ref, (stored) => ({ ...stored, status: { claims: claims(step.claim) } }), { half: "status" });
    case "release":
      return void store.update(vnis, ref, withMetadata({ finalizers: [] }));
    case "delete":
    default:
      return void store.delete(vnis, ref, step.stale ? { resourceVersion: "1" } : {});
  }
}

/** Refusals are part of life; anything else is not. */
function attempt(store: Store, step: Act): void {
  try {
    act(store, step);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

type View = Map<string, StoredObject>;
const viewOf = (store: Store): View =>
  new Map(
    store
      .collection(vnis)
      .list()
      .map(({ object }) => [keyOf(object), object]),
  );

function follow(view: View, { type, entry }: StoreChange): void {
  if (type === "DELETED") view.delete(keyOf(entry.object));
  else view.set(keyOf(entry.object), entry.object);
}

test("any earlier state with the changes since equals the current state", () => {
  fc.assert(
    fc.property(acts, (steps) => {
      const store = newStore();
      const snapshots: { revision: number; view: View }[] = [];
      for (const step of steps) {
        snapshots.push({ revision: store.revision, view: viewOf(store) });
        attempt(store, step);
      }
      for (const { revision, view } of snapshots) {
        for (const change of store.collection(vnis).history.since(revision) ?? []) follow(view, change);
        expect(view).toEqual(viewOf(store));
      }
    }),
    { seed: 11, numRuns: 200 },
  );
});

test("every change increments the revision by one, and a watcher gets each once, in order", () => {
  fc.assert(
    fc.property(acts, (steps) => {
      const store = newStore();
      const revisions: number[] = [];
      const first = store.revision;
      store.subscribe((_kind, { entry, type, previous }) => {
        revisions.push(entry.revision);
        expect(entry.object.metadata.resourceVersion).toBe(String(entry.revision));
        expect(previous === undefined).toBe(type === "ADDED");
      });
      for (const step of steps) attempt(store, step);
      expect(revisions).toEqual(Array.from({ length: store.revision - first }, (_, at) => first + at + 1));
    }),
    { seed: 12, numRuns: 200 },
  );
});

test("the generation counts exactly spec changes and the deletion timestamp; uid and creationTimestamp never change", () => {
  fc.assert(
    fc.property(acts, (steps) => {
      const store = newStore();
      store.subscribe((_kind, { entry: { object }, previous, type }) => {
        if (type !== "MODIFIED" || !previous) return;
        const [now, before] = [object.metadata, previous.object.metadata];
        const marked = now.deletionTimestamp !== undefined && before.deletionTimestamp === undefined;
        const respecified = JSON.stringify(object["spec"]) !== JSON.stringify(previous.object["spec"]);
        expect(now.generation).toBe((before.generation ?? 0) + (marked || respecified ? 1 : 0));
        expect([now.uid, now.creationTimestamp]).toEqual([before.uid, before.creationTimestamp]);
      });
      for (const step of steps) attempt(store, step);
    }),
    { seed: 13, numRuns: 200 },
  );
});

test("the journal restores the state at every revision", () => {
  fc.assert(
    fc.property(acts, (steps) => {
      const lines: Buffer[] = [];
      const store = newStore({ append: (change) => void lines.push(lineOf(change)) });
      for (const step of steps) {
        attempt(store, step);
        const recovered = recover(Buffer.concat(lines));
        const objects = [...recovered.objects.values()].filter(({ resource }) => resource.startsWith("l3vnis"));
        expect(new Map(objects.map(({ object }) => [keyOf(object), object]))).toEqual(viewOf(store));
        expect(recovered.revision).toBe(store.revision);
      }
    }),
    { seed: 14, numRuns: 60 },
  );
});

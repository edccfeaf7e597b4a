import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../src/api/admission/value.ts";
import { core, lease, map, paths, vni } from "./conformance/objects.ts";
import { JSON_PATCH, MERGE, startServer, STRATEGIC, type Answer, type Conforming } from "./conformance/servers.ts";

/** Random requests, the same to both servers: whatever they answer, they answer alike. */

let both: readonly [Conforming, Conforming];
beforeAll(async () => {
  both = await Promise.all([startServer("embedded"), startServer("kube-apiserver")]);
});
afterAll(() => Promise.all(both.map((server) => server.stop())));

const SEED = 41;
const COURSES = 60;

const kinds = {
  vni: {
    path: paths.vnis,
    make: (name: string, metadata: JsonObject, n: number) => vni(name, { vni: n }, metadata),
    content: (n: number) => ({ spec: { vni: n } }),
  },
  map: {
    path: paths.maps,
    make: (name: string, metadata: JsonObject, n: number) => map(name, { n: String(n) }, metadata),
    content: (n: number) => ({ data: { n: String(n) } }),
  },
  secret: {
    path: paths.secrets,
    make: (name: string, metadata: JsonObject, n: number) => core("Secret", name, { stringData: { n: String(n) } }, metadata),
    content: (n: number) => ({ stringData: { n: String(n) }, ...(n === 3 && { type: "other" }) }),
  },
  lease: {
    path: paths.leases,
    make: (name: string, metadata: JsonObject, n: number) => ({
      ...lease(name, { leaseTransitions: n + 1 }),
      metadata: { name, ...metadata },
    }),
    content: (n: number) => ({ spec: { leaseTransitions: n + 1 } }),
  },
} as const;

type Act = { kind: keyof typeof kinds; name: string; n: number; metadata: JsonObject } & (
  | { do: "create" | "merge" | "strategic" | "status" | "get" | "list"; query: string }
  | { do: "put"; resourceVersion: "current" | "old" | "none" | "junk"; uid: "none" | "right" | "wrong" }
  | { do: "json"; operations: JsonObject[] }
  | { do: "delete"; precondition: "none" | "right" | "wrong" }
);

const metadata = fc.record(
  {
    labels: fc.constantFrom({}, { a: "b" }, { a: "c", d: "e" }, { "a b": "c" }, null),
    annotations: fc.constantFrom({ x: "y" }, { "X/y": "" }),
    finalizers: fc.constantFrom([], ["example.com/x"], ["example.com/x", "example.com/y"], ["bad one"], ["plain", "example.com"]),
    generateName: fc.constant("gen-"),
    extra: fc.constant(1),
  },
  { requiredKeys: [] },
);
const common = {
  kind: fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[])),
  name: fc.constantFrom("a", "b"),
  n: fc.integer({ min: 0, max: 3 }),
  metadata,
};
const query = fc.constantFrom("", "", "?dryRun=All", "?fieldValidation=Strict", "?fieldValidation=Ignore");
const operation = fc.record({
  op: fc.constantFrom("add", "replace", "remove", "test"),
  path: fc.constantFrom(
    "/metadata/labels",
    "/metadata/labels/a",
    "/metadata/finalizers/-",
    "/metadata/finalizers/0",
    "/spec/vni",
    "/data/n",
  ),
  value: fc.constantFrom<unknown>("x", { q: "r" }, ["example.com/z"]),
});
const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ...common, do: fc.constant("create" as const), query }) },
  { weight: 6, arbitrary: fc.record({ ...common, do: fc.constantFrom("merge" as const, "strategic" as const, "status" as const), query }) },
  { weight: 1, arbitrary: fc.record({ ...common, do: fc.constantFrom("get" as const, "list" as const), query: fc.constant("") }) },
  {
    weight: 4,
    arbitrary: fc.record({
      ...common,
      do: fc.constant("put" as const),
      resourceVersion: fc.constantFrom("current" as const, "current" as const, "old" as const, "none" as const, "junk" as const),
      uid: fc.constantFrom("none" as const, "right" as const, "wrong" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...common,
      do: fc.constant("json" as const),
      operations: fc.array(operation, { minLength: 1, maxLength: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...common,
      do: fc.constant("delete" as const),
      precondition: fc.constantFrom("none" as const, "right" as const, "wrong" as const),
    }),
  },
);

/** What one server has said of one course. */
class Course {
  readonly #server: Conforming;
  readonly #ns: string;
  /** Stands for values that each server makes up for itself, in the order in which they occur. */
  readonly #names = new Map<string, string>();
  readonly #stored = new Map<string, { resourceVersion: string; uid: string }>();

  constructor(server: Conforming, ns: string) {
    this.#server = server;
    this.#ns = ns;
  }

  async do(act: Act): Promise<unknown> {
    const answer = await this.#send(act);
    this.#remember(act, answer);
    return { status: answer.status, body: this.#neutral(answer.json), warning: answer.headers["warning"] };
  }

  #send(act: Act): Promise<Answer> {
    const { path, make, content } = kinds[act.kind];
    const collection = path(this.#ns);
    const one = `${collection}/${act.name}`;
    const stored = this.#stored.get(one);
    const body = make(act.name, act.metadata, act.n);
    const patch = { metadata: act.metadata, ...content(act.n) };
    switch (act.do) {
      case "create":
        return this.#server.send("POST", `${collection}${act.query}`, body);
      case "merge":
        return this.#server.send("PATCH", `${one}${act.query}`, patch, { "content-type": MERGE });
      case "strategic":
        return this.#server.send("PATCH", `${one}${act.query}`, patch, { "content-type": act.kind === "vni" ? MERGE : STRATEGIC });
      case "status":
        return this.#server.send(
          "PATCH",
          `${one}/status${act.query}`,
          { ...patch, status: { claims: [{ claim: `vni/${act.n}`, since: act.n === 0 ? "never" : "2026-01-01T00:00:00Z" }] } },
          { "content-type": MERGE },
        );
      case "json":
        return this.#server.send(
          "PATCH",
          one,
          act.operations.filter(({ path: at }) => act.kind !== "lease" || at !== "/spec/vni"),
          {
            "content-type": JSON_PATCH,
          },
        );
      case "get":
        return this.#server.send("GET", one);
      case "list":
        return this.#server.send("GET", `${collection}?fieldSelector=metadata.name!%3Dkube-root-ca.crt`);
      case "put": {
        const versions = { current: stored?.resourceVersion ?? "1", old: "1", none: undefined, junk: "abc" };
        const uids = { none: undefined, right: stored?.uid, wrong: "wrong" };
        const meta = { name: act.name, ...act.metadata, resourceVersion: versions[act.resourceVersion], uid: uids[act.uid] };
        return this.#server.send("PUT", one, { ...body, metadata: meta });
      }
      case "delete":
      default: {
        const preconditions = { none: undefined, right: { uid: stored?.uid ?? "x" }, wrong: { resourceVersion: "1" } }[act.precondition];
        return this.#server.send("DELETE", one, { apiVersion: "v1", kind: "DeleteOptions", preconditions });
      }
    }
  }

  #remember(act: Act, { status, json }: Answer): void {
    const { name, resourceVersion, uid } = (json["metadata"] ?? {}) as { name?: string; resourceVersion?: string; uid?: string };
    if (status < 300 && name !== undefined && resourceVersion && uid) {
      this.#stored.set(`${kinds[act.kind].path(this.#ns)}/${name}`, { resourceVersion, uid });
    }
  }

  #neutral(json: unknown): unknown {
    const text = JSON.stringify(json, (key, value: unknown) => {
      if (key === "creationTimestamp" || key === "deletionTimestamp") return "some time";
      if (key === "uid" && typeof value === "string") return this.#nameOf("uid", value);
      // The revision of a list counts what others did too.
      if (key === "resourceVersion") return "some revision";
      return value;
    });
    const known = [...this.#names].reduce((neutral, [value, name]) => neutral.replaceAll(value, name), text);
    const rendered = known
      .replaceAll(this.#ns, "the namespace")
      .replaceAll(/gen-[a-z0-9]{5}/g, "gen-name")
      .replaceAll(/in record \(\d+\)/g, "in record (some revision)")
      // What storage calls an object is its own business.
      .replaceAll(/Key: [^,]+,/g, "Key: some,")
      // The object within a refused patch is in another order of fields.
      .replaceAll(/patch: Invalid value: .*?\}\\": /g, "patch: Invalid value: some: ")
      .replaceAll(/\\+"map\[.*?\]\\+": strict/g, "some: strict")
      .replaceAll(/"Invalid value: \\"\{.*?\}\\": /g, '"Invalid value: some: ');
    return canonical(JSON.parse(rendered));
  }

  #nameOf(what: string, value: string): string {
    const known = this.#names.get(value) ?? `${what} ${this.#names.size + 1}`;
    this.#names.set(value, known);
    return known;
  }
}

/** Lists of causes and of items have an order that means nothing; an item of a list may or may not name its kind. */
function canonical(json: unknown): unknown {
  const {
    items,
    details,
    metadata: meta,
    ...rest
  } = json as { items?: JsonObject[]; details?: { causes?: unknown[] }; metadata?: JsonObject };
  return {
    ...rest,
    ...(meta && { metadata: { ...meta, continue: meta["continue"] || undefined } }),
    ...(items && { items: items.map(({ kind: _kind, apiVersion: _apiVersion, ...item }) => item) }),
    ...(details && { details: { ...details, causes: details.causes?.map((cause) => JSON.stringify(cause)).sort() } }),
  };
}

test("both answer every request of a random sequence the same way", async () => {
  const courses = fc.sample(fc.array(acts, { minLength: 12, maxLength: 25 }), { seed: SEED, numRuns: COURSES });
  for (const [at, steps] of courses.entries()) {
    const [mine, theirs] = await Promise.all(both.map(async (server) => new Course(server, await server.namespace())));
    for (const step of steps) {
      const [ours, real] = await Promise.all([mine?.do(step), theirs?.do(step)]);
      expect({ at, step, answer: ours }).toEqual({ at, step, answer: real });
    }
  }
});

import { type Domain, type Health, type Component, worseHealth } from "../../api/health.ts";
import type { Answer, Cause, PathNode, ComponentHealth } from "../../explain/answer.ts";
import type { RowFilter } from "../model/row-store.ts";
import type { KindInNamespace, RefsOf } from "../rows/row-builder.ts";
import type { ConfigNamespaces } from "../../explain/explainers.ts";
import { causeRow, domainRefs } from "../rows/overview.ts";
import { type CauseRow, type MatrixCellRow, HIDDEN_KIND, type NodeRow, type SyncRow, type ViewName } from "../api.ts";
import { type RowReferences, refsOfComponents, visibleRefs } from "./refs.ts";
import type { Viewer } from "./viewer.ts";

/** What one viewer may see: without objects that he may not list, and without their names. */
export class AccessFilter {
  readonly #viewer: Viewer;
  readonly #refsOf: RefsOf;
  readonly #domains: Readonly<Record<Domain, readonly KindInNamespace[]>>;
  readonly #visible: readonly KindInNamespace[];

  constructor(viewer: Viewer, namespaces: ConfigNamespaces) {
    this.#viewer = viewer;
    this.#refsOf = refsOfComponents(namespaces);
    this.#domains = domainRefs(namespaces);
    this.#visible = visibleRefs(namespaces);
  }

  readonly filter: RowFilter = (stored) => {
    if (this.#viewer.seesAll) return stored.text;
    if (!this.may(stored.of)) return undefined;
    const { row } = stored;
    if (row.type === "node") return JSON.stringify(this.#node(row));
    if (row.type === "sync") return JSON.stringify(this.#sync(row));
    if (row.type !== "cause") return stored.text;
    const visible = stored.cause && this.#cause(row, stored.cause);
    return visible && JSON.stringify(visible);
  };

  /** The permissions that these views require. */
  *asks(views: Iterable<ViewName>, behind: RowReferences): Iterable<KindInNamespace> {
    if (this.#viewer.seesAll) return;
    yield* this.#visible;
    for (const refs of Object.values(this.#domains)) yield* refs;
    for (const view of views) yield* behind.of(view);
  }

  *asksOf(components: Iterable<Component>): Iterable<KindInNamespace> {
    if (!this.#viewer.seesAll) for (const component of components) yield* this.#refsOf(component);
  }

  sees(component: Component): boolean {
    return this.#viewer.seesAll || this.may(this.#refsOf(component));
  }

  /** Undefined if the requested component itself may not be seen. */
  answer(answer: Answer): Answer | undefined {
    if (this.#viewer.seesAll) return answer;
    if (!this.sees(answer.path.component)) return undefined;
    const names = new Map<string, string>();
    const hidden = (verdict: ComponentHealth) => {
      const name = names.get(verdict.id) ?? String(names.size + 1);
      names.set(verdict.id, name);
      const component = { kind: HIDDEN_KIND, name };
      return { id: `${HIDDEN_KIND}/${name}`, component, domain: verdict.domain, health: verdict.health };
    };
    const verdict = (one: ComponentHealth): ComponentHealth => (this.sees(one.component) ? this.#withoutHiddenFix(one) : hidden(one));
    const step = ({ cause, dependencies, ...one }: PathNode): PathNode => ({
      ...verdict(one),
      cause,
      dependencies: dependencies.map(step),
    });
    const cause = ({ symptoms, ...one }: Cause): Cause => ({
      ...verdict(one),
      symptoms: symptoms.filter(({ component }) => this.sees(component)).map(verdict),
    });
    return { path: step(answer.path), causes: answer.causes.map(cause) };
  }

  verdict(verdict: ComponentHealth): ComponentHealth | undefined {
    return this.sees(verdict.component) ? this.#withoutHiddenFix(verdict) : undefined;
  }

  may(refs: readonly KindInNamespace[]): boolean {
    return this.#viewer.seesAll || refs.every((ref) => this.#viewer.may(ref));
  }

  #withoutHiddenFix<V extends ComponentHealth>(verdict: V): V {
    const component = verdict.fix?.change?.component;
    if (!component || this.sees(component)) return verdict;
    const visible = { ...verdict };
    delete (visible as { fix?: unknown }).fix;
    return visible;
  }

  #node(row: NodeRow): NodeRow {
    const cells = (Object.entries(row.cells) as [Domain, MatrixCellRow][]).filter(([domain]) => this.may(this.#domains[domain]));
    if (cells.length === Object.keys(row.cells).length) return row;
    const health = cells.reduce<Health>((worst, [, cell]) => worseHealth(worst, cell.health), cells.length > 0 ? "Healthy" : "Unknown");
    const since = cells.flatMap(([, cell]) => (cell.health === health ? (cell.since ?? []) : [])).toSorted()[0];
    return { type: "node", key: row.key, name: row.name, health, ...(since !== undefined && { since }), cells: Object.fromEntries(cells) };
  }

  #sync(row: SyncRow): SyncRow {
    const hidden = this.#visible.filter((ref) => !this.#viewer.may(ref)).map(({ kind }) => kind.kind);
    return { ...row, hidden, ...(this.#viewer.isIncomplete && { incomplete: true }) };
  }

  #cause({ key }: CauseRow, cause: Cause): CauseRow | undefined {
    const symptoms = cause.symptoms.filter(({ component }) => this.sees(component));
    if (this.sees(cause.component)) return causeRow(this.#withoutHiddenFix({ ...cause, symptoms }), key);
    if (symptoms.length === 0) return undefined;
    const { type, health, since, symptoms: visible, symptomCount } = causeRow({ ...cause, symptoms }, key);
    return { type, key, health, ...(since !== undefined && { since }), symptoms: visible, symptomCount };
  }
}

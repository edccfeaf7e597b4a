import { keyOf, type KubeObject } from "../../api/kind.ts";
import type { ManifestSource } from "../store/declaration.ts";
import { problemText, type Problem } from "../directory/problems.ts";
import type { ManifestError, ObjectIdentity, ManifestTarget } from "../directory/target.ts";

/** For tests: takes objects as a store would, and tells what happened. */
export class MemoryStore implements ManifestTarget {
  readonly objects = new Map<string, { object: KubeObject; source: ManifestSource }>();
  /** `apply a`, `move a to b.yaml:1`, `remove a`, since this was last emptied. */
  readonly happened: string[] = [];
  /** Thrown by every call while it is there. */
  broken: Error | undefined;

  identify(object: KubeObject): ObjectIdentity | ManifestError {
    const { kind = "" } = object;
    if (kind === "Unknown") return { field: "kind", level: "error", message: "there is no kind Unknown" };
    const key = `${kind.toLowerCase()}/${keyOf(object)}`;
    return { key, name: `${kind} ${keyOf(object)}` };
  }

  apply(object: KubeObject, source: ManifestSource): readonly ManifestError[] {
    if (this.broken) throw this.broken;
    const { key } = this.identify(object) as ObjectIdentity;
    const { spec } = object as { spec?: { bad?: string; odd?: string } };
    this.happened.push(`apply ${object.metadata.name}`);
    if (spec?.bad !== undefined) return [{ field: "spec.bad", level: "error", message: `spec.bad: ${spec.bad}` }];
    this.objects.set(key, { object, source });
    return spec?.odd === undefined ? [] : [{ field: "spec.odd", level: "warning", message: 'unknown field "spec.odd"' }];
  }

  moved(key: string, source: ManifestSource): void {
    if (this.broken) throw this.broken;
    const objects = this.objects.get(key);
    if (objects) this.objects.set(key, { ...objects, source });
    this.happened.push(`move ${objects?.object.metadata.name} to ${source.path}:${source.line}`);
  }

  remove(key: string): void {
    if (this.broken) throw this.broken;
    this.happened.push(`remove ${this.objects.get(key)?.object.metadata.name}`);
    this.objects.delete(key);
  }

  /** `a.yaml:1 a=1`: where an object stands, its name and spec.value. */
  list(): string[] {
    return Array.from(this.objects.values(), ({ object, source: { path, line } }) => {
      const { value = "" } = (object as { spec?: { value?: unknown } }).spec ?? {};
      return `${path}:${line} ${object.metadata.name}=${String(value)}`;
    }).sort();
  }
}

export function testManifest(name: string, value: string | number = 1, more = ""): string {
  return `apiVersion: test/v1\nkind: Thing\nmetadata:\n  name: ${name}\nspec:\n  value: ${value}\n${more}`;
}

export function texts(problems: readonly Problem[]): string[] {
  return problems.map(problemText);
}

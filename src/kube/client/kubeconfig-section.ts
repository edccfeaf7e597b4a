import { KubeError } from "./error.ts";

/** A mapping in a kubeconfig; errors name the file and the field. */
export class KubeconfigSection {
  readonly file: string;
  readonly #path: string;
  readonly #fields: Record<string, unknown>;

  constructor(file: string, path: string, value: unknown) {
    this.file = file;
    this.#path = path;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new KubeError("BadKubeconfig", `${path === "" ? file : `${path} in ${file}`} must be a mapping`);
    }
    this.#fields = value as Record<string, unknown>;
  }

  where(field: string): string {
    return `${this.#at(field)} in ${this.file}`;
  }

  bad(field: string, what: string): KubeError {
    return new KubeError("BadKubeconfig", `${this.where(field)} ${what}`);
  }

  has(field: string): boolean {
    const value = this.#fields[field];
    return value !== undefined && value !== null && value !== "";
  }

  text(field: string): string | undefined {
    if (!this.has(field)) return undefined;
    const value = this.#fields[field];
    if (typeof value !== "string") throw this.bad(field, "must be a string");
    return value;
  }

  required(field: string): string {
    const value = this.text(field);
    if (value === undefined) throw this.bad(field, "is missing");
    return value;
  }

  flag(field: string): boolean {
    if (!this.has(field)) return false;
    const value = this.#fields[field];
    if (typeof value !== "boolean") throw this.bad(field, "must be true or false");
    return value;
  }

  base64(field: string): string | undefined {
    const value = this.text(field)?.replaceAll(/\s/g, "");
    if (value === undefined) return undefined;
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(value)) throw this.bad(field, "is not base64");
    return Buffer.from(value, "base64").toString("utf8");
  }

  texts(field: string): string[] {
    if (!this.has(field)) return [];
    const value = this.#fields[field];
    if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) throw this.bad(field, "must be a list of strings");
    return value as string[];
  }

  entries(field: string): KubeconfigSection[] {
    if (!this.has(field)) return [];
    const value = this.#fields[field];
    if (!Array.isArray(value)) throw this.bad(field, "must be a list");
    return value.map((item: unknown, index) => new KubeconfigSection(this.file, `${this.#at(field)}[${index}]`, item));
  }

  optional(field: string): KubeconfigSection | undefined {
    return this.has(field) ? new KubeconfigSection(this.file, this.#at(field), this.#fields[field]) : undefined;
  }

  inner(field: string): KubeconfigSection {
    return this.optional(field) ?? new KubeconfigSection(this.file, this.#at(field), {});
  }

  #at(field: string): string {
    return this.#path === "" ? field : `${this.#path}.${field}`;
  }
}

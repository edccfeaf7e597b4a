/** Syntax of names, labels and annotations. Each check returns messages of the kube-apiserver. */

import { randomInt } from "node:crypto";

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const namePart = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const value = `(${namePart})?`;

const whole = (pattern: string) => new RegExp(`^${pattern}$`);
const subdomainPattern = whole(subdomain);
const labelPattern = whole(label);
const namePartPattern = whole(namePart);
const valuePattern = whole(value);

/** As in Kubernetes: names are counted in characters, parts of names in bytes. */
const tooLong = (max: number, unit: "characters" | "bytes") => `must be no more than ${max} ${unit}`;

function mismatch(rule: string, pattern: string, ...examples: string[]): string {
  return `${rule} (e.g. ${examples.map((example) => `'${example}', `).join(" or ")}regex used for validation is '${pattern}')`;
}

export function subdomainProblems(text: string, unit: "characters" | "bytes" = "characters"): string[] {
  const problems = Buffer.byteLength(text) > 253 ? [tooLong(253, unit)] : [];
  if (!subdomainPattern.test(text)) {
    problems.push(
      mismatch(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        subdomain,
        "example.com",
      ),
    );
  }
  return problems;
}

export function labelProblems(text: string): string[] {
  const problems = Buffer.byteLength(text) > 63 ? [tooLong(63, "characters")] : [];
  if (labelPattern.test(text)) return problems;
  const dots = subdomainPattern.test(text);
  problems.push(
    dots
      ? "must not contain dots"
      : mismatch(
          "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
          label,
          "my-name",
          "123-abc",
        ),
  );
  return problems;
}

const qualifiedRule = mismatch(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  namePart,
  "MyName",
  "my.name",
  "123-abc",
);

/** A label key, an annotation key or a finalizer: a name, with or without a domain before it. */
export function qualifiedNameProblems(text: string): string[] {
  const parts = text.split("/");
  if (parts.length > 2)
    return [`a valid label key ${qualifiedRule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  const [prefix, name = ""] = parts.length === 2 ? parts : [undefined, parts[0]];
  const problems: string[] = [];
  if (prefix === "") problems.push("prefix part must be non-empty");
  else if (prefix !== undefined) problems.push(...subdomainProblems(prefix, "bytes").map((problem) => `prefix part ${problem}`));
  if (name === "") problems.push("name part must be non-empty");
  else if (Buffer.byteLength(name) > 63) problems.push(`name part ${tooLong(63, "bytes")}`);
  if (!namePartPattern.test(name)) problems.push(`name part ${qualifiedRule}`);
  return problems;
}

export function labelValueProblems(text: string): string[] {
  const problems = Buffer.byteLength(text) > 63 ? [tooLong(63, "bytes")] : [];
  if (!valuePattern.test(text)) {
    problems.push(
      mismatch(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        value,
        "MyValue",
        "my_value",
        "12345",
      ),
    );
  }
  return problems;
}

const SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789";

/** Prefix and suffix together fit a DNS label. */
export function generateName(prefix: string): string {
  const letters = Array.from({ length: 5 }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]);
  return `${prefix.slice(0, 58)}${letters.join("")}`;
}

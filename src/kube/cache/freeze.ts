/** Makes a mutation of a shared object fail where it happens. Too dear for production, where the store holds 10 000 of them. */
export const FREEZES = process.env["NODE_ENV"] === "test" || process.env["VITEST"] !== undefined;

export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

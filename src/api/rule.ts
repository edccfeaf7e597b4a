/**
 * A rule across fields, stated twice: as CEL for the API server and as a predicate. Both see the object with defaults. A transition rule
 * uses `oldSelf` and is skipped without an old value.
 */
export type Rule<Self = unknown> = StateRule<Self> | TransitionRule<Self>;

interface RuleText {
  readonly cel: string;
  /** One line, without a full stop. */
  readonly message: string;
  /** Relative to `self`: `.hostasn`. */
  readonly fieldPath?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  /** The fields of which exactly one is set, for generators of objects. */
  readonly choice?: readonly string[];
  /** The fields of which at most one is set, for the same. */
  readonly alternatives?: readonly string[];
}

interface StateRule<Self> extends RuleText {
  check(self: Self): boolean;
}

interface TransitionRule<Self> extends RuleText {
  transition(self: Self, oldSelf: Self): boolean;
}

export function rule<Self>(declared: Rule<Self>): Rule<Self> {
  const namesOldSelf = /\boldSelf\b/.test(declared.cel);
  if (namesOldSelf !== "transition" in declared) {
    throw new Error(
      `rule "${declared.cel}" ${namesOldSelf ? "names oldSelf and needs" : "does not name oldSelf but has"} a transition predicate`,
    );
  }
  return declared;
}

export function exactlyOneOf(first: string, ...others: readonly [string, ...string[]]): Rule<Readonly<Record<string, unknown>>> {
  const choice = [first, ...others];
  return rule({
    cel: `[${choice.map((field) => `has(self.${field})`).join(", ")}].filter(given, given).size() == 1`,
    message: `exactly one of ${choice.slice(0, -1).join(", ")} and ${choice.at(-1)} must be set`,
    reason: "FieldValueInvalid",
    choice,
    check: (self) => choice.filter((field) => self[field] !== undefined).length === 1,
  });
}

/** For an object with `type` and a field for each type: the field of the type is set, and the other one is not. */
export function fieldOfType(
  [type, field]: readonly [type: string, field: string],
  [otherType, otherField]: readonly [type: string, field: string],
): Rule<Readonly<Record<string, unknown>>> {
  return rule({
    cel: `self.type == '${type}' ? has(self.${field}) && !has(self.${otherField}) : has(self.${otherField}) && !has(self.${field})`,
    message: `type ${type} allows only ${field}, type ${otherType} only ${otherField}`,
    check: (self) => {
      const [wanted, unwanted] = self["type"] === type ? [field, otherField] : [otherField, field];
      return self[wanted] !== undefined && self[unwanted] === undefined;
    },
  });
}

/** Two spellings of one setting, of different versions of the API. */
export function notBoth(one: string, other: string): Rule<Readonly<Record<string, unknown>>> {
  return rule({
    cel: `!has(self.${one}) || !has(self.${other})`,
    message: `${one} and ${other} are the same setting; remove one of them`,
    reason: "FieldValueInvalid",
    alternatives: [one, other],
    check: (self) => self[one] === undefined || self[other] === undefined,
  });
}

/** Of a list of addresses or prefixes. */
export function oneOfEachFamily(list: string): Rule<readonly string[]> {
  return rule({
    cel: "self.filter(one, one.contains(':')).size() <= 1 && self.filter(one, !one.contains(':')).size() <= 1",
    message: `${list} allows at most one of each address family`,
    check: (self) => [true, false].every((isIPv6) => self.filter((one) => one.includes(":") === isIPv6).length <= 1),
  });
}

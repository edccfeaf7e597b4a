/**
 * A rule that no single field can state, told twice: as CEL for the API server and as a predicate for everywhere else. Both see the
 * object with its defaults filled. A rule about a change names `oldSelf` and is asked only when there is an old value.
 */
export type Rule<Self = unknown> = StateRule<Self> | TransitionRule<Self>;

interface RuleText {
  readonly cel: string;
  /** One line, without a full stop: what has to hold. */
  readonly message: string;
  /** The field to blame, from `self` on: `.hostasn`. */
  readonly fieldPath?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  /** The fields of which exactly one is set, for whoever makes up such objects. */
  readonly choice?: readonly string[];
}

interface StateRule<Self> extends RuleText {
  check(self: Self): boolean;
}

interface TransitionRule<Self> extends RuleText {
  transition(self: Self, oldSelf: Self): boolean;
}

/** Declares a rule. The server tells the two forms apart by looking for `oldSelf` in the text, so the text must agree with the form. */
export function rule<Self>(declared: Rule<Self>): Rule<Self> {
  const namesOldSelf = /\boldSelf\b/.test(declared.cel);
  if (namesOldSelf !== "transition" in declared) {
    throw new Error(
      `rule "${declared.cel}" ${namesOldSelf ? "names oldSelf and needs" : "does not name oldSelf but has"} a transition predicate`,
    );
  }
  return declared;
}

/** Of these optional fields exactly one is set. */
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

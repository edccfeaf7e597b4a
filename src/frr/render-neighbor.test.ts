import { expect, test } from "vitest";
import { passwordProblem } from "./render-neighbor.ts";

test.each(["s3cret", 'p"a$s|s?!#', "x".repeat(80)])("%s is a password", (password) => {
  expect(passwordProblem(password)).toBeUndefined();
});

test.each([
  ["", "is empty"],
  ["x".repeat(81), "has more than 80 characters"],
  ["two words", "has a character other than printable ASCII without spaces"],
  ["two\nlines", "has a character other than printable ASCII without spaces"],
  ["geheim\n", "has a character other than printable ASCII without spaces"],
  ["\u0000", "has a character other than printable ASCII without spaces"],
  ["geheím", "has a character other than printable ASCII without spaces"],
])("%j is not a password: it %s", (password, problem) => {
  expect(passwordProblem(password)).toBe(problem);
});

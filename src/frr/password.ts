/** Up to 80 characters without spaces. The message never contains the password. */
export function passwordProblem(password: string): string | undefined {
  if (password === "") return "is empty";
  if (password.length > 80) return "has more than 80 characters";
  return /^[\x21-\x7e]+$/.test(password) ? undefined : "has a character other than printable ASCII without spaces";
}

/** Why FRR would not take this as the password of a session: up to 80 characters, and a space would end it. The message never contains it. */
export function passwordProblem(password: string): string | undefined {
  if (password === "") return "is empty";
  if (password.length > 80) return "has more than 80 characters";
  return /^[\x21-\x7e]+$/.test(password) ? undefined : "has a character other than printable ASCII without spaces";
}

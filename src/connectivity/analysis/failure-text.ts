const LONGEST = 100;

/**
 * Why something failed, without what it was: `No route to host` of `Failed connect to 10.0.0.1:80; No route to host`. What others write ends with
 * it, too, after a colon: `dial tcp 10.0.0.1:80: connect: no route to host`.
 */
export function failureText(message: string): string {
  const ours = message.indexOf("; ");
  const text = ours >= 0 ? message.slice(ours + 2) : message.slice(message.lastIndexOf(": ") + 1);
  const bare = text.replaceAll(/ \([^)]*\)/g, "").trim();
  const short = bare.length > LONGEST ? `${bare.slice(0, LONGEST - 3)}...` : bare;
  return `${short.charAt(0).toUpperCase()}${short.slice(1)}`;
}

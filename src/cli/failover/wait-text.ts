import { stripControlCharacters } from "../print/columns.ts";

interface Waited {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly message: string;
}

/** With the object, unless the message names it. */
export function waitDescription(waited: Waited): string {
  const { kind, name, message } = waited;
  const named = message.startsWith(`${objectTitle(waited)} `) || message.startsWith(`${kind} ${name} `);
  return stripControlCharacters(named ? message : `${objectTitle(waited)}: ${message}`);
}

/** `Pod shop/web-0` */
export function objectTitle({ kind, namespace, name }: Omit<Waited, "message">): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

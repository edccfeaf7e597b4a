import { printable } from "../../kube/printable.ts";

interface PrintableFailure {
  /** Empty for a problem of a file. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly field: string;
  readonly message: string;
}

/** `IPAddressPool metallb-system/a: spec.addresses: Required value` */
export function failureLine({ kind, name, namespace, field, message }: PrintableFailure): string {
  const title = kind === "" ? "" : `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}: `;
  return printable(`${title}${field === "" ? "" : `${field}: `}${message}`.replaceAll(/ ?\n/g, "; "));
}

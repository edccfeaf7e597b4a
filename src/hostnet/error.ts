/** Rejected: the kernel (or Open vSwitch) rejected it. Unreachable: the namespace cannot be entered, or `ip` cannot be run. Timeout: it did not answer, and was killed. */
export type KernelErrorCode = "Rejected" | "Unreachable" | "Timeout";

interface About {
  /** As typed in a shell: `ip -n perouter link set dev red up`. Empty if the plan rejects it. */
  readonly command: string;
  /** Empty for our own. */
  readonly namespace: string;
  readonly link?: string | undefined;
}

/** `text` is the kernel's message; `message` starts with the link: `br-pe-100: RTNETLINK answers: File exists`. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  readonly code: KernelErrorCode;
  readonly text: string;
  readonly command: string;
  readonly namespace: string;
  readonly link: string | undefined;

  constructor(code: KernelErrorCode, text: string, { command, namespace, link }: About, options?: ErrorOptions) {
    super(link === undefined ? text : `${link}: ${text}`, options);
    this.code = code;
    this.text = text;
    this.command = command;
    this.namespace = namespace;
    this.link = link;
  }
}

/** Why someone may not look: he has not said who he is (401), or is not known to be allowed to (403), has tried too often (429), or could not be asked about (503). */
export class LoginError extends Error {
  override readonly name = "LoginError";
  readonly code: "NoToken" | "Rejected" | "TooMany" | "Unreachable";
  readonly status: 401 | 429 | 503;

  constructor(code: LoginError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.status = code === "TooMany" ? 429 : code === "Unreachable" ? 503 : 401;
  }
}

import { useEffect, useRef, useState } from "preact/hooks";
import { logIn } from "./live/stream.ts";

const COMMAND = "kubectl create token NAME --namespace NAMESPACE";

export function Login() {
  const [error, setError] = useState<string>();
  const [asking, setAsking] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = async () => {
    setAsking(true);
    setError(await logIn(field.current?.value.trim() ?? ""));
    setAsking(false);
  };
  return (
    <main class="login">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h1>Plumbline</h1>
        <p>The page shows what your account can list in the cluster. Get a token:</p>
        <pre class="command">{COMMAND}</pre>
        <label for="token">Token</label>
        <textarea id="token" name="token" class="field mono" rows={5} required autocomplete="off" spellcheck={false} ref={field} />
        {error !== undefined && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
        <button type="submit" class="button main" disabled={asking}>
          {asking ? "Logging in…" : "Log in"}
        </button>
      </form>
    </main>
  );
}

import { useState } from "preact/hooks";

const RESULT_MS = 1_500;

export function Copy({ text }: { text: string }) {
  const [result, setResult] = useState("");
  const copy = async (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    setResult(await copied(text));
    setTimeout(() => setResult(""), RESULT_MS);
  };
  return (
    <button
      type="button"
      class="copy"
      onClick={(event) => void copy(event)}
      title={`Copy: ${text}`}
      aria-label={`Copy the command ${text}`}
    >
      <code class="cut">{text}</code>
      <span class="result" role="status">
        {result || <Sheets />}
      </span>
    </button>
  );
}

function Sheets() {
  return (
    <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
      <path d="M4 4V1H11V8H8M1 4H8V11H1Z" />
    </svg>
  );
}

async function copied(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return "copied";
  } catch {
    return "not allowed";
  }
}

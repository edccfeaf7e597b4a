/** The one JSON shape of every command. */
export function itemsText(kind: string, items: readonly unknown[]): string {
  return `${withoutControls(JSON.stringify(shape(kind, items), null, 2))}\n`;
}

/** The same on one line, for commands that go on printing. */
export function itemsLine(kind: string, items: readonly unknown[]): string {
  return `${withoutControls(JSON.stringify(shape(kind, items)))}\n`;
}

export function printItems(kind: string, items: readonly unknown[]): void {
  process.stdout.write(itemsText(kind, items));
}

function shape(kind: string, items: readonly unknown[]): object {
  return { apiVersion: "plumbline.dev/cli/v1", kind, items };
}

/** JSON.stringify leaves DEL and the one-byte escapes above it as they are, and terminals obey them. */
function withoutControls(json: string): string {
  return json.replaceAll(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}

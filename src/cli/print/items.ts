/** The JSON shape of all commands. */
export function itemsText(kind: string, items: readonly unknown[]): string {
  return `${withoutControls(JSON.stringify(shape(kind, items), null, 2))}\n`;
}

/** On one line, for commands that print several. */
export function itemsLine(kind: string, items: readonly unknown[]): string {
  return `${withoutControls(JSON.stringify(shape(kind, items)))}\n`;
}

export function printItems(kind: string, items: readonly unknown[]): void {
  process.stdout.write(itemsText(kind, items));
}

function shape(kind: string, items: readonly unknown[]): object {
  return { apiVersion: "plumbline.dev/cli/v1", kind, items };
}

/** JSON.stringify does not escape DEL and the C1 controls, which terminals interpret. */
function withoutControls(json: string): string {
  return json.replaceAll(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}

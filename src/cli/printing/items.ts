/** The one JSON shape of every command. */
export function itemsText(kind: string, items: readonly unknown[]): string {
  return `${JSON.stringify(shape(kind, items), null, 2)}\n`;
}

/** The same on one line, for commands that go on printing. */
export function itemsLine(kind: string, items: readonly unknown[]): string {
  return `${JSON.stringify(shape(kind, items))}\n`;
}

export function printItems(kind: string, items: readonly unknown[]): void {
  process.stdout.write(itemsText(kind, items));
}

function shape(kind: string, items: readonly unknown[]): object {
  return { apiVersion: "plumbline.dev/cli/v1", kind, items };
}

export interface TextRange {
  readonly bytes: Buffer;
  readonly line: number;
}

const [TAB, NEWLINE, RETURN, SPACE, HASH, PERCENT, DASH, DOT] = Buffer.from("\t\n\r #%-.");

/**
 * The documents of a YAML file, each with the comments and directives above its `---`. At the start of a line `---` and `...` end every
 * open construct, block scalars and quotes included, so they can be found without parsing.
 */
export function documentsOf(file: Buffer): TextRange[] {
  const documents: TextRange[] = [];
  let from = 0;
  let line = 0;
  let current = 0;
  let begun = false;
  const cut = (to: number, next: number) => {
    if (begun) documents.push({ bytes: file.subarray(from, to), line });
    from = to;
    line = next;
    begun = false;
  };
  for (let at = 0; at < file.length; current += 1) {
    const newline = file.indexOf(NEWLINE as number, at);
    const end = newline < 0 ? file.length : newline + 1;
    if (isMarker(file, at, DOT)) cut(end, current + 1);
    else if (isMarker(file, at, DASH)) {
      if (begun) cut(at, current);
      begun = true;
    } else begun ||= hasContent(file, at, end);
    at = end;
  }
  cut(file.length, current);
  return documents;
}

function isMarker(file: Buffer, at: number, sign: number | undefined): boolean {
  if (file[at] !== sign || file[at + 1] !== sign || file[at + 2] !== sign) return false;
  const after = file[at + 3];
  return after === undefined || after === SPACE || after === TAB || after === NEWLINE || after === RETURN;
}

/** Neither empty, nor a comment or directive. */
function hasContent(file: Buffer, at: number, end: number): boolean {
  if (file[at] === PERCENT) return false;
  for (let i = at; i < end; i += 1) {
    const byte = file[i];
    if (byte === HASH) return false;
    if (byte !== SPACE && byte !== TAB && byte !== NEWLINE && byte !== RETURN) return true;
  }
  return false;
}

export interface SplitList {
  readonly head: string;
  /** Each item as a document, in its original columns. */
  readonly items: readonly { readonly text: string; readonly line: number }[];
}

const ITEMS_LINE = /^items: *(?:#.*)?\r?$/;
const HEAD_LINE =
  /^(?:---|(?:apiVersion|kind): +(?:[\w./-]+|"[\w./-]*"|'[\w./-]*')|metadata:(?: +\{\})?| +[\w./-]+: *(?:[\w./-]+|"[\w./-]*"|'[\w./-]*')?)? *(?:(?<=^| )#.*)?\r?$/;
const TOP_LEVEL_LINE = /^[^\s#-]/;
/**
 * Anchors connect items, the parser fails on a `? key` before a dash, and parsers disagree whether these characters are space or line ends.
 */
const UNSURE = /[\t\f\v\u0085\u00a0\u2028\u2029]|\r(?!\n)|(?:^|[\s[{,:-])(?:[&*]\S|\?\s)/m;

/**
 * Splits a List into its items, so that a change of one item does not require parsing all. Only for the layout of kubectl and of
 * hand-written files; otherwise undefined, and the document must be parsed as a whole.
 */
export function splitList(text: string): SplitList | undefined {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => ITEMS_LINE.test(line)) + 1;
  if (start === 0 || UNSURE.test(text)) return undefined;
  const length = lines.slice(start).findIndex((line) => TOP_LEVEL_LINE.test(line));
  const end = length < 0 ? lines.length : start + length;
  const head = [...lines.slice(0, start - 1), ...lines.slice(end)];
  const starts = itemStarts(lines, start, end);
  if (!starts || !head.every((line) => HEAD_LINE.test(line))) return undefined;
  const items = starts.map((line, index) => {
    const to = starts[index + 1] ?? end;
    const text = lines.slice(line, to).join("\n").replace("-", " ");
    return { text: to < lines.length ? `${text}\n` : text, line };
  });
  return { head: head.join("\n"), items };
}

function itemStarts(lines: readonly string[], from: number, to: number): number[] | undefined {
  const starts: number[] = [];
  let dash: number | undefined;
  for (let line = from; line < to; line += 1) {
    const text = lines[line] ?? "";
    const indent = text.search(/[^ ]/);
    if (indent < 0 || text[indent] === "#" || text[indent] === "\r") continue;
    dash ??= indent;
    if (indent < dash) return undefined;
    if (indent > dash) continue;
    if (!/^-(?:[ \r]|$)/.test(text.slice(indent))) return undefined;
    starts.push(line);
  }
  return starts.length > 0 ? starts : undefined;
}

import { open } from "node:fs/promises";

export interface ArchivedFile {
  readonly path: string;
  readonly content: Buffer;
}

const BLOCK = 512;
const NAME = 100;
/** GNU's format for long paths: a file of this name and type with the path as content, before the file itself. */
const LONG_NAME = "././@LongLink";
const FILE = "0";
const LONG = "L";

/** Readable by their owner only. */
export function packTar(files: readonly ArchivedFile[], time: Date): Buffer {
  const blocks: Buffer[] = [];
  const put = (name: string, type: string, content: Buffer) =>
    blocks.push(header(name, type, content.length, time), content, padding(content));
  for (const { path, content } of files) {
    const name = Buffer.from(path);
    if (name.length > NAME) put(LONG_NAME, LONG, Buffer.concat([name, Buffer.alloc(1)]));
    put(name.toString("latin1", 0, NAME), FILE, content);
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

/** The regular files of a tar. Throws a RangeError if it is truncated or not a tar. */
export function unpackTar(archive: Buffer): ArchivedFile[] {
  const files: ArchivedFile[] = [];
  let long: string | undefined;
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0;) {
    const head = archive.subarray(at, at + BLOCK);
    if (octal(head, 148, 8) !== checksum(head)) throw new RangeError(`invalid tar header at byte ${at}`);
    const size = octal(head, 124, 12);
    const content = archive.subarray(at + BLOCK, at + BLOCK + size);
    if (content.length < size) throw new RangeError(`the archive is truncated at byte ${archive.length}`);
    const type = head.toString("latin1", 156, 157);
    if (type === LONG) long = text(content, 0, content.length);
    else {
      if (type === FILE || type === "\0") files.push({ path: long ?? pathIn(head), content });
      long = undefined;
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}

function header(name: string, type: string, size: number, time: Date): Buffer {
  const head = Buffer.alloc(BLOCK);
  head.write(name, 0, NAME, "latin1");
  const numbers: [value: number, at: number, length: number][] = [
    [0o600, 100, 8],
    [0, 108, 8],
    [0, 116, 8],
    [size, 124, 12],
    [Math.floor(time.getTime() / 1000), 136, 12],
  ];
  for (const [value, at, length] of numbers) head.write(value.toString(8).padStart(length - 1, "0"), at, "latin1");
  head.write(type, 156, "latin1");
  head.write("ustar\u000000", 257, "latin1");
  head.write(`${checksum(head).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return head;
}

/** Computed with blanks in its own field. */
function checksum(head: Buffer): number {
  return head.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0);
}

function padding({ length }: Buffer): Buffer {
  return Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);
}

function octal(head: Buffer, at: number, length: number): number {
  return Number.parseInt(text(head, at, length).trim() || "0", 8);
}

/** Other tars put the beginning of a long path into a separate field. */
function pathIn(head: Buffer): string {
  const front = head.toString("latin1", 257, 262) === "ustar" && head[263] === 0x30 ? text(head, 345, 155) : "";
  return front === "" ? text(head, 0, NAME) : `${front}/${text(head, 0, NAME)}`;
}

function text(bytes: Buffer, at: number, length: number): string {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? field.length : end);
}

/** Readable by its owner only; an existing file keeps its mode. */
export async function writeOwnersFile(path: string, content: Buffer): Promise<void> {
  await using file = await open(path, "w", 0o600);
  if ((await file.stat()).isFile()) await file.chmod(0o600);
  await file.writeFile(content);
}

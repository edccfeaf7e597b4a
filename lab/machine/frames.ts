/** What travels on a control connection, each frame with a byte of type and four of length before it. */
export const FRAME = { request: 0, input: 1, inputEnd: 2, output: 3, errors: 4, exit: 5, signal: 6 } as const;
export type FrameType = (typeof FRAME)[keyof typeof FRAME];

/** The first frame of every connection. */
export interface Request {
  readonly token: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** The last frame of every connection: a code as a shell gives it, or why there was no process at all. */
export interface Exit {
  readonly code: number;
  readonly problem?: string;
}

const HEAD_BYTES = 5;

export function encode(type: FrameType, payload: Uint8Array | string = ""): Buffer {
  const body = Buffer.from(payload);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(type, 0);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** Cuts a stream of bytes into frames, however it arrives. */
export function frameReader(onFrame: (type: FrameType, payload: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + rest.readUInt32BE(1);
      if (rest.length < end) return;
      const payload = rest.subarray(HEAD_BYTES, end);
      const type = rest.readUInt8(0) as FrameType;
      rest = rest.subarray(end);
      onFrame(type, payload);
    }
  };
}

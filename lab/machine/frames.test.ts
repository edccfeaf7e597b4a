import * as fc from "fast-check";
import { expect, test } from "vitest";
import { encode, FRAME, frameReader, type FrameType } from "./frames.ts";

const frame = fc.record({ type: fc.constantFrom(...Object.values(FRAME)), payload: fc.uint8Array({ maxLength: 40 }) });

test("frames arrive complete and in order, however their bytes are split", () => {
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (frames, cuts) => {
      const bytes = Buffer.concat(frames.map(({ type, payload }) => encode(type, payload)));
      const read: { type: FrameType; payload: number[] }[] = [];
      const onChunk = frameReader((type, payload) => read.push({ type, payload: [...payload] }));
      for (let at = 0, nth = 0; at < bytes.length; nth++) {
        const length = cuts[nth % cuts.length] ?? 1;
        onChunk(bytes.subarray(at, at + length));
        at += length;
      }
      expect(read).toEqual(frames.map(({ type, payload }) => ({ type, payload: [...payload] })));
    }),
    { seed: 3, numRuns: 200 },
  );
});

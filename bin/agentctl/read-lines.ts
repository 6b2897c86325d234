import { createReadStream } from 'node:fs';

export interface Line {
  /** From 1. */
  number: number;
  /** Without the line feed. */
  bytes: Buffer;
  /** Offsets in the file, in bytes: of the line's first byte, and of the next line. */
  start: number;
  end: number;
}

const lineFeed = 0x0a;

/**
 * Reads the lines of a file of any size. It does not use node:readline, which also breaks lines at U+2028, a valid
 * character in JSON.
 * @param longest maximum bytes of a line
 * @throws Error for a longer line, before it is buffered completely
 */
export async function* readLines(file: string, longest: number): AsyncGenerator<Line> {
  let number = 1;
  let start = 0;
  let pending: Buffer[] = [];
  const buffered = () => pending.reduce((sum, { length }) => sum + length, 0);
  const take = (lineFeedBytes: 0 | 1): Line => {
    const bytes = Buffer.concat(pending);
    pending = [];
    const line = { number, bytes, start, end: start + bytes.length + lineFeedBytes };
    start = line.end;
    number += 1;
    return line;
  };
  // 256 KiB is much more than the overhead of a line, and much less than a portion.
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, from)) {
      pending.push(chunk.subarray(from, at));
      yield take(1);
      from = at + 1;
    }
    if (from < chunk.length) pending.push(chunk.subarray(from));
    if (buffered() > longest) throw new Error(`${file} line ${number} has more than ${longest} bytes`);
  }
  if (pending.length > 0) yield take(0);
}

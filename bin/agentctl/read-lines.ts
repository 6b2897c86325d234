import { createReadStream } from 'node:fs';

export interface Line {
  /** From 1. */
  number: number;
  bytes: Buffer;
}

const lineFeed = 0x0a;

/**
 * node:readline is not used: it also breaks lines at U+2028, which JSON may contain.
 * @param longest bytes of a line that may be buffered while its end is not read
 * @throws Error if more are buffered, or if the file cannot be read
 */
export async function* readLines(file: string, longest: number): AsyncGenerator<Line> {
  let number = 1;
  let rest = Buffer.alloc(0);
  // Much smaller than `longest`: what is buffered is checked after each chunk.
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(lineFeed); end !== -1; end = rest.indexOf(lineFeed)) {
      yield { number, bytes: rest.subarray(0, end) };
      rest = rest.subarray(end + 1);
      number += 1;
    }
    if (rest.length > longest) throw new Error(`${file} line ${number} has more than ${longest} bytes`);
  }
  if (rest.length > 0) yield { number, bytes: rest };
}

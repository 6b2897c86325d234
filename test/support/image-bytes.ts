import { crc32, deflateSync } from 'node:zlib';

function pngChunk(type: string, content: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/**
 * A PNG of the given size in pixels.
 * @param fillLine sets the bytes of row `y`, three for each pixel
 * @param claimed the size in the header, if it differs from the true one
 */
export function pngOf(
  { width, height }: { width: number; height: number },
  fillLine: (line: Buffer, y: number) => void,
  claimed = { width, height },
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(claimed.width, 0);
  header.writeUInt32BE(claimed.height, 4);
  header.set([8, 2], 8); // eight bits of red, green and blue
  const lines = Buffer.alloc((width * 3 + 1) * height);
  for (let y = 0; y < height; y += 1)
    fillLine(lines.subarray(y * (width * 3 + 1) + 1, (y + 1) * (width * 3 + 1)), y);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(lines, { level: 1 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

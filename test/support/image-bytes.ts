import { crc32, deflateSync } from 'node:zlib';
import { base64 } from './sample-files.ts';

export function pngChunk(type: string, content: Uint8Array): Buffer {
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
 * @param chunks between the header and the pixels
 */
export function pngOf(
  { width, height }: { width: number; height: number },
  fillLine: (line: Buffer, y: number) => void,
  claimed = { width, height },
  chunks: readonly Buffer[] = [],
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
    ...chunks,
    pngChunk('IDAT', deflateSync(lines, { level: 1 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Exif data that says how an image is to be turned. */
export function exifOf(orientation: number): Buffer {
  const exif = Buffer.from('4d4d002a00000008000101120003000000010006000000000000', 'hex');
  exif.writeUInt16BE(orientation, 18);
  return exif;
}

/** Images of 16 by 8 pixels: red on the left, blue on the right. Those with Exif data are to be turned right. */
export const smallImages = {
  turnedWebp: base64(
    'UklGRloAAABXRUJQVlA4WAoAAAAIAAAADwAABwAAVlA4TBkAAAAvD8ABAA8Q87//8x8OxILJ/KU7U4jof+QAAEVYSUYaAAAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAA=',
  ),
  turnedCmykJpeg: base64(
    '/9j/7gAOQWRvYmUAZAAAAAAA/+EAIkV4aWYAAE1NACoAAAAIAAEBEgADAAAAAQAGAAAAAAAA/9sAQwAIBgYHBgUIBwcHCQkICgwUDQwLCwwZEhMPFB0aHx4dGhwcICQuJyAiLCMcHCg3KSwwMTQ0NB8nOT04MjwuMzQy/8AAFAgACAAQBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAgAB//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAOBEMATQBZAEsAAD8A38fx/b+ACP8AT//Z',
  ),
  turnedJpeg: base64(
    '/9j/4AAQSkZJRgABAQAAAQABAAD/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjL/wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAb/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAABv/EABkRAAIDAQAAAAAAAAAAAAAAAABEBoLCB//aAAwDAQACEQMRAD8Ai0gBLztmmhfPF75P/9k=',
  ),
  animatedGif: base64(
    'R0lGODlhEAAIAIEAAP8AAAAA/wAAAAAAACH5BAAKAAAALAAAAAAQAAgAAAgkAAEIHCgwgMGDBgkSRIhQ4UCGBx0WhBhAIgCKFSVitLhRI8WAACH5BAEKAAEALAAAAAAQAAgAgQAAAAAAAAAAAAAAAAgVAAEIHEiwoMGDCBMqXMiwocOHCAMCADs=',
  ),
  animatedWebp: base64(
    'UklGRowAAABXRUJQVlA4WAoAAAACAAAADwAABwAAQU5JTQYAAAAAAAAAAABBTk1GMgAAAAAAAAAAAA8AAAcAAGQAAAJWUDhMGQAAAC8PwAEADxDzv//zHw7Egsn8pTtTiOh/ZAAAQU5NRiYAAAAAAAAAAAAPAAAHAABkAAAAVlA4TA4AAAAvD8ABAAcQEf0PRET/Aw==',
  ),
  animatedTransparentWebp: base64(
    'UklGRtgAAABXRUJQVlA4WAoAAAASAAAADwAABwAAQU5JTQYAAAAAAAAAAABBTk1GYgAAAAAAAAAAAA8AAAcAAGQAAAJBTFBIDwAAAAEPcLLNiAhx//+I/of/PwBWUDggMgAAAFABAJ0BKhAACAACwEwloAAEdAAA/vC3//6Pv//62//1of62/rbf//bQ9N//60E0AAAAQU5NRkIAAAAAAAAAAAAPAAAHAABkAAACQUxQSAoAAAABB1CZiAhERP8DVlA4IBgAAAAwAQCdASoQAAgAAsBMJaQAA3AA/vgfgAA=',
  ),
};

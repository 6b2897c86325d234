import { chunksOf, findChunk, riffChunks } from './image-chunks.ts';

/**
 * The first frame of an animated GIF, WebP or PNG, as an image of the same type. Some providers reject animated images.
 * @returns undefined if the image is not animated
 */
export function firstFrame(bytes: Uint8Array, mediaType: string): Uint8Array | undefined {
  switch (mediaType) {
    case 'image/gif':
      return firstFrameOfGif(bytes);
    case 'image/png':
      return firstFrameOfPng(bytes);
    case 'image/webp':
      return firstFrameOfWebp(bytes);
    default:
      return undefined;
  }
}

/** Without its animation, a PNG is the image that programs show that know no animation: nearly always the first frame. */
function firstFrameOfPng(bytes: Uint8Array): Uint8Array | undefined {
  if (findChunk(chunksOf(bytes, 'image/png'), 'acTL') === undefined) return undefined;
  // A file may have millions of chunks, so they are not collected.
  const still = Buffer.alloc(bytes.length);
  still.set(bytes.subarray(0, 8));
  let length = 8;
  for (const { type, whole } of chunksOf(bytes, 'image/png')) {
    if (['acTL', 'fcTL', 'fdAT'].includes(type)) continue;
    still.set(whole, length);
    length += whole.length;
  }
  return still.subarray(0, length);
}

/** Bytes of a frame before its chunks: position, size and duration. */
const webpFrameHeader = 16;

function firstFrameOfWebp(bytes: Uint8Array): Uint8Array | undefined {
  const frame = findChunk(chunksOf(bytes, 'image/webp'), 'ANMF')?.content;
  if (frame === undefined) return undefined;
  const chunks = frame.subarray(webpFrameHeader);
  const alpha = findChunk(riffChunks(chunks), 'ALPH');
  const pixels = findChunk(riffChunks(chunks), 'VP8 ', 'VP8L');
  if (pixels === undefined) return undefined;
  // A picture with separate transparency needs the header of extended files, with the frame's size.
  const extended = [Buffer.from('VP8X\x0a\0\0\0\x10\0\0\0', 'latin1'), frame.subarray(6, 12)];
  const body = Buffer.concat([
    Buffer.from('WEBP'),
    ...(alpha === undefined ? [] : [...extended, alpha.whole]),
    pixels.whole,
  ]);
  const header = Buffer.from('RIFF\0\0\0\0');
  header.writeUInt32LE(body.length, 4);
  return Buffer.concat([header, body]);
}

export const extension = 0x21;
export const imageDescriptor = 0x2c;
const trailer = 0x3b;

/** Ends the file after the first picture, if another one follows. */
function firstFrameOfGif(bytes: Uint8Array): Uint8Array | undefined {
  let end: number | undefined;
  let at = 13 + colorTableBytes(bytes[10]);
  while (at < bytes.length && bytes[at] !== trailer) {
    if (bytes[at] === imageDescriptor) {
      if (end !== undefined) return Buffer.concat([bytes.subarray(0, end), Buffer.from([trailer])]);
      // The descriptor, its color table, and the size of codes.
      end = afterBlocks(bytes, at + 10 + colorTableBytes(bytes[at + 9]) + 1);
      at = end;
    } else if (bytes[at] === extension) at = afterBlocks(bytes, at + 2);
    else return undefined;
  }
  return undefined;
}

export const colorTableBytes = (flags = 0): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/** Blocks have their length before them; an empty one is the last. */
export function afterBlocks(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== 0) at += 1 + (bytes[at] ?? 0);
  return at + 1;
}

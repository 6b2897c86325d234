export interface ImageChunk {
  /** Of a JPEG, the segment's name. */
  type: string;
  content: Uint8Array;
  /** With its header, as in the file. */
  whole: Uint8Array;
}

export const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** Encoders write chunks of 4 KB or more, so an image of 50 MB has 12,800. Millions would take seconds. */
const mostChunks = 50_000;

/** The chunks of a PNG or WebP image, or the segments of a JPEG before its pixels, up to the first that is broken. */
export function* chunksOf(bytes: Uint8Array, mediaType: string): Generator<ImageChunk> {
  if (mediaType === 'image/png') yield* pngChunks(bytes);
  if (mediaType === 'image/webp') yield* riffChunks(bytes.subarray(12));
  if (mediaType === 'image/jpeg') yield* jpegSegments(bytes);
}

/** The first chunk of one of these types. */
export function findChunk(chunks: Iterable<ImageChunk>, ...types: string[]): ImageChunk | undefined {
  for (const chunk of chunks) if (types.includes(chunk.type)) return chunk;
  return undefined;
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

function* pngChunks(bytes: Uint8Array): Generator<ImageChunk> {
  const view = viewOf(bytes);
  for (let at = 8, left = mostChunks; left > 0 && at + 12 <= bytes.length; left -= 1) {
    const end = at + 12 + view.getUint32(at);
    if (end > bytes.length) return;
    const type = textOf(bytes.subarray(at + 4, at + 8));
    yield { type, content: bytes.subarray(at + 8, end - 4), whole: bytes.subarray(at, end) };
    at = end;
  }
}

/** The chunks of a WebP file after its header, or of one frame in it. */
export function* riffChunks(bytes: Uint8Array): Generator<ImageChunk> {
  const view = viewOf(bytes);
  for (let at = 0, left = mostChunks; left > 0 && at + 8 <= bytes.length; left -= 1) {
    const length = view.getUint32(at + 4, true);
    // Chunks have an even length in the file.
    const end = at + 8 + length + (length % 2);
    if (at + 8 + length > bytes.length) return;
    const type = textOf(bytes.subarray(at, at + 4));
    yield { type, content: bytes.subarray(at + 8, at + 8 + length), whole: bytes.subarray(at, end) };
    at = end;
  }
}

const segmentNames: Readonly<Record<number, string>> = { 225: 'APP1', 218: 'SOS' };

function* jpegSegments(bytes: Uint8Array): Generator<ImageChunk> {
  const view = viewOf(bytes);
  for (let at = 2, left = mostChunks; left > 0 && at + 4 <= bytes.length && bytes[at] === 0xff; left -= 1) {
    const code = bytes[at + 1] ?? 0;
    const end = at + 2 + view.getUint16(at + 2);
    // The start of a frame, which has the number of components, is one of 0xc0 to 0xcf but for three tables.
    const isFrame = code >= 0xc0 && code <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(code);
    const type = isFrame ? 'SOF' : (segmentNames[code] ?? 'other');
    if (type === 'SOS' || end > bytes.length || end < at + 4) return;
    yield { type, content: bytes.subarray(at + 4, end), whole: bytes.subarray(at, end) };
    at = end;
  }
}
